import type { Aliases as GivenAliases } from '../../aws/dynamo/documents.ts'
import { INDEXES, PRIMARY_KEY } from '../../aws/dynamo/keys.ts'
import type { Item } from '../../aws/dynamo/stored-form.ts'
import type { Key } from './contents.ts'
import {
  type Action,
  type Aliases,
  conditionOf,
  type Parsed,
  type Scope,
  sumOf,
  updateOf,
} from './expressions.ts'
import { RefusedRequest, UnknownPart } from './refusals.ts'
import { assertName, assertStorable, bytesOf, bytesOfText, isMap, kindOf } from './values.ts'

/** What DynamoDB checks in a request before it reads the table, and what a write makes of an item. */

/** Source: the quotas in the developer guide of DynamoDB. */
const PARTITION_KEY_BYTES_MAX = 2_048
const SORT_KEY_BYTES_MAX = 1_024
const VALUES_BYTES_MAX = 2 * 1_024 * 1_024

/** @throws UnknownPart for a request with another input than these, and for one of another table */
export function assertKnown(request: object, table: string, known: readonly string[]): void {
  const given = request as Readonly<Record<string, unknown>>
  for (const name in given) {
    if (given[name] !== undefined && name !== 'ReturnConsumedCapacity' && !known.includes(name)) {
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

/** The scope of a request's expressions. @throws RefusedRequest for a name or a value that is missing, or that no expression uses */
export function scopeOf(
  { ExpressionAttributeNames: names = {}, ExpressionAttributeValues: values = {} }: GivenAliases,
  ...parsed: ReadonlyArray<Parsed<unknown> | undefined>
): Omit<Scope, 'item'> {
  const expressions = parsed.filter(one => one !== undefined)
  for (const alias of expressions.flatMap(({ aliases }) => [...aliases])) {
    if (!Object.hasOwn(alias.startsWith('#') ? names : values, alias)) {
      throw new RefusedRequest(`An expression uses ${alias}, which is not defined`)
    }
  }
  const isUnused = (alias: string) => !expressions.some(({ aliases }) => aliases.has(alias))
  const unused = [...Object.keys(names), ...Object.keys(values)].find(isUnused)
  if (unused !== undefined) throw new RefusedRequest(`Value provided in names or values unused: ${unused}`)
  const bytes = Object.values(values).reduce<number>((sum, value) => sum + bytesOf(value, 1), 0)
  if (bytes > VALUES_BYTES_MAX) throw new RefusedRequest('ExpressionAttributeValues exceeds the maximum size')
  for (const name of Object.values(names)) assertName(name)
  return { names, values }
}

type Conditioned = GivenAliases & {
  readonly ConditionExpression?: string
  readonly UpdateExpression?: string
}

/** What a write's expressions make of the stored item: whether its condition holds, and the item after its update. */
export function readWrite(request: Conditioned): {
  readonly holds: (item: Item | undefined) => boolean
  readonly updated: (
    item: Item | undefined,
    key: Key,
  ) => { readonly item: Item; readonly changed: ReadonlySet<string> }
} {
  const { ConditionExpression: condition, UpdateExpression: update } = request
  const test = condition === undefined ? undefined : conditionOf(condition)
  const actions = update === undefined ? undefined : updateOf(update)
  const given = scopeOf(request, test, actions)
  const paths = (actions?.meaning ?? []).map(({ path }) => path.map(alias => given.names[alias] ?? ''))
  assertApart(paths)
  return {
    holds: item => !test || test.meaning({ item: item ?? NO_ITEM, ...given }),
    updated: (item, key) => {
      const scope = { item: item ?? NO_ITEM, ...given }
      const after = (actions?.meaning ?? []).reduce<Item>(
        (made, action, nth) => applied(made, paths[nth] ?? [], action, scope),
        item ?? key,
      )
      assertItem(after)
      return { item: after, changed: new Set(paths.map(([name = '']) => name)) }
    },
  }
}

const NO_ITEM: Item = {}

/** @throws RefusedRequest when two paths of an update overlap, or one is a part of the key */
function assertApart(paths: readonly Aliases[]): void {
  const whole = new Set<string>()
  const above = new Set<string>()
  for (const path of paths) {
    const [name = ''] = path
    if (name === PRIMARY_KEY.partition || name === PRIMARY_KEY.sort) {
      throw new RefusedRequest(`Cannot update attribute ${name}. This attribute is part of the key`)
    }
    const parts = path.map((_, index) => JSON.stringify(path.slice(0, index + 1)))
    const own = parts.pop() ?? ''
    if (whole.has(own) || above.has(own) || parts.some(part => whole.has(part))) {
      throw new RefusedRequest(`Two document paths overlap with each other: ${own}`)
    }
    whole.add(own)
    for (const part of parts) above.add(part)
  }
}

function applied(map: Item, path: Aliases, action: Action, scope: Scope): Item {
  const [name = '', ...below] = path
  const present = Object.hasOwn(map, name) ? map[name] : undefined
  if (below.length > 0) {
    if (!isMap(present))
      throw new RefusedRequest('The document path provided in the update expression is invalid for update')
    return withMember(map, name, applied(present, below, action, scope))
  }
  if (action.kind === 'remove') {
    if (present === undefined) return map
    const { [name]: _removed, ...rest } = map
    return rest
  }
  const value = action.value(scope)
  return withMember(map, name, action.kind === 'add' ? added(present, value) : value)
}

function withMember(map: Item, name: string, value: unknown): Item {
  return name === '__proto__'
    ? Object.fromEntries([...Object.entries(map), [name, value]])
    : { ...map, [name]: value }
}

/** The number or the set with what is added to it. */
function added(present: unknown, value: unknown): unknown {
  if (!(value instanceof Set)) return sumOf(present ?? 0, value)
  if (present === undefined) return value
  if (kindOf(present) !== kindOf(value)) {
    throw new RefusedRequest('An operand in the update expression has an incorrect data type')
  }
  return new Set([...(present as Set<unknown>), ...value])
}
