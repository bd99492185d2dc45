import type { AttributeValue } from '../../../shared/aws/dynamo/documents.ts'

/** An item in the form of DynamoDB's wire. */
export function wireItem(members: object): Record<string, AttributeValue> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, attributeOf(value)]))
}

function attributeOf(value: unknown): AttributeValue {
  if (typeof value === 'string') return { S: value }
  if (typeof value === 'number') return { N: String(value) }
  if (typeof value === 'boolean') return { BOOL: value }
  return { M: wireItem(value as object) }
}
