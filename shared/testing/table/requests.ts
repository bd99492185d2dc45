import type { Aliases as GivenAliases, Item } from '../../aws/dynamo/documents.ts'
import { INDEXES, PRIMARY_KEY } from '../../aws/dynamo/keys.ts'
import type { Key } from './contents.ts'
import { conditionOf, type Parsed, type Scope, type Wanted } from './expressions.ts'
import { pathsOf, updatedItem, updateOf } from './updates.ts'
import {
  assertName,
  assertStorable,
  bytesOf,
  bytesOfText,
  kindOf,
  RefusedRequest,
  UnknownPart,
} from './values.ts'

/** What DynamoDB checks in a request before it reads the table, and what a write makes of an item. */

/** Source: the quotas in the developer guide of DynamoDB. */
const PARTITION_KEY_BYTES_MAX = 2_048
const SORT_KEY_BYTES_MAX = 1_024
const VALUES_BYTES_MAX = 2 * 1_024 * 1_024

/** @throws UnknownPart for a request with another input than these, and for one of another table */
export function assertKnown(request: object, table: string, known: readonly string[]): void {
  const given = request as Readonly<Record<string, unknown>>
  for (const name in given) {
    if (given[name] !== undefined && !known.includes(name)) {
      throw new UnknownPart(`the input ${name}`)
    }
  }
  if (given.TableName !== undefined && given.TableName !== table)
    throw new UnknownPart(`a table ${given.TableName}`)
}

/** @throws RefusedRequest when the key of an item lacks a part, has another one, or is empty or too long */
export function keyOf(item: Item, isWhole = false): Key {
  const { pk, sk } = item
  if (!isWhole && Object.keys(item).length !== 2) {
    throw new RefusedRequest('The provided key element does not match the schema')
  }
  assertKey(PRIMARY_KEY.partition, pk, 'S', PARTITION_KEY_BYTES_MAX)
  assertKey(PRIMARY_KEY.sort, sk, 'S', SORT_KEY_BYTES_MAX)
  return item as Key
}

function assertKey(name: string, value: unknown, kind: 'S' | 'N', bytesMax: number): void {
  if (value === undefined || kindOf(value) !== kind) {
    throw new RefusedRequest(`Type mismatch for key ${name}: it must be of the type ${kind}`)
  }
  if (typeof value !== 'string') return
  const isLegal = value !== '' && bytesOfText(value) <= bytesMax
  if (!isLegal) throw new RefusedRequest(`the key ${name} is empty, or longer than ${bytesMax} bytes`)
}

/** @throws RefusedRequest for an item that DynamoDB would not store */
export function assertItem(item: Item): void {
  for (const { partition, sort, sortType } of Object.values(INDEXES)) {
    if (item[partition] !== undefined) assertKey(partition, item[partition], 'S', PARTITION_KEY_BYTES_MAX)
    if (item[sort] !== undefined) assertKey(sort, item[sort], sortType, SORT_KEY_BYTES_MAX)
  }
  assertStorable(item)
}

/** The scope of a request's expressions. @throws RefusedRequest when names or values are missing, unused, or of a wrong kind */
export function scopeOf(
  request: GivenAliases,
  ...parsed: ReadonlyArray<Parsed<unknown> | undefined>
): Omit<Scope, 'item'> {
  const { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} } = request
  const expressions = parsed.filter(one => one !== undefined)
  const used = new Set(expressions.flatMap(({ aliases }) => [...aliases]))
  const given = [...Object.keys(names), ...Object.keys(values)]
  const isEmpty = (aliases: object | undefined) => aliases !== undefined && Object.keys(aliases).length === 0
  const unequal = given.find(alias => !used.has(alias)) ?? [...used].find(alias => !given.includes(alias))
  const isOdd = ({ alias, kinds }: Wanted) => alias in values && !kinds.includes(kindOf(values[alias]))
  const odd = expressions.flatMap(({ wanted }) => wanted).find(isOdd)
  const bytes = Object.values(values).reduce<number>((sum, value) => sum + bytesOf(value, 1), 0)
  const problem = [
    unequal !== undefined && `${unequal} is unused or not defined`,
    (isEmpty(request.ExpressionAttributeNames) || isEmpty(request.ExpressionAttributeValues)) &&
      'they are empty',
    odd && `${odd.alias} has an incorrect type`,
    bytes > VALUES_BYTES_MAX && 'they exceed the maximum size',
  ].find(Boolean)
  if (problem) throw new RefusedRequest(`ExpressionAttributeNames or ExpressionAttributeValues: ${problem}`)
  for (const name of Object.values(names)) assertName(name)
  return { names, values }
}

type Conditioned = GivenAliases & {
  readonly ConditionExpression?: string
  readonly UpdateExpression?: string
}

/** What the expressions of a write say: whether its condition holds for an item, and the item after its update. */
export function readWrite(request: Conditioned) {
  const { ConditionExpression: condition, UpdateExpression: update } = request
  const test = condition === undefined ? undefined : conditionOf(condition)
  const actions = update === undefined ? undefined : updateOf(update)
  const given = scopeOf(request, test, actions)
  const paths = pathsOf(actions?.meaning ?? [], given.names)
  return {
    paths,
    holds: (item: Item = NO_ITEM) => !test || test.meaning({ item, ...given }),
    updated: (item: Item = NO_ITEM, key: Key) => {
      const after = updatedItem(item === NO_ITEM ? key : item, actions?.meaning ?? [], {
        item,
        paths,
        ...given,
      })
      assertItem(after)
      return after
    },
  }
}

const NO_ITEM: Item = {}
