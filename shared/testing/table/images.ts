import type { AttributeValue } from '../../aws/dynamo/attribute-values.ts'
import type { Item } from '../../aws/dynamo/stored-form.ts'
import { UnknownPart } from './refusals.ts'
import { isMap } from './values.ts'

type Image = Readonly<Record<string, AttributeValue>>

/** An item as the table's stream carries it. The stream is not asked for items with sets, so their sets are left out. */
export function imageOf(item: Item): Image {
  const members = Object.entries(item).filter(([, value]) => !(value instanceof Set))
  return Object.fromEntries(members.map(([name, value]) => [name, attributeOf(value)]))
}

function attributeOf(value: unknown): AttributeValue {
  if (typeof value === 'string') return { S: value }
  if (typeof value === 'number') return { N: String(value) }
  if (typeof value === 'boolean') return { BOOL: value }
  if (value === null) return { NULL: true }
  if (Array.isArray(value)) return { L: value.map(attributeOf) }
  if (isMap(value)) return { M: imageOf(value) }
  throw new UnknownPart(`a value of the kind ${typeof value}`)
}
