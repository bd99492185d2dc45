import fc from 'fast-check'
import type { Item } from '../../../shared/aws/dynamo/documents.ts'
import type { TransactItem } from '../../support/dynamo/memory-transactions.ts'
import type { Request } from './two-tables.ts'

/**
 * Random requests of the kinds that the stores make, on few keys and attributes, so that they often meet. Some of
 * them are faulty: unused and missing names, values of the wrong kind, paths into what is not a map, overlapping
 * paths, and keys that are empty.
 */

const PARTITIONS = ['a', 'b', 'é']
const SORTS = ['1', '10', '2', '\u{1f600}', '\uffee']
const key = fc.record({ pk: fc.constantFrom(...PARTITIONS), sk: fc.constantFrom(...SORTS) })

const scalar = fc.oneof(
  fc.integer({ min: -3, max: 12 }),
  fc.constantFrom(0.5, 1e20 / 1e6, -1.25),
  fc.constantFrom('', 'x', 'xy', 'ß'),
  fc.boolean(),
  fc.constant(null),
)
const numbers = fc
  .uniqueArray(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 3 })
  .map(all => new Set(all))
const texts = fc
  .uniqueArray(fc.constantFrom('p', 'q'), { minLength: 1, maxLength: 2 })
  .map(all => new Set(all))
const map = fc.dictionary(fc.constantFrom('x', 'y', '1'), scalar, { maxKeys: 3 })
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: scalar },
  { weight: 2, arbitrary: map },
  fc.dictionary(fc.constantFrom('x', 'y'), map, { maxKeys: 2 }),
  fc.array(scalar, { maxLength: 3 }),
  numbers,
  texts,
)

const ATTRIBUTES = ['n', 's', 'm', 'set'] as const
const attributes: fc.Arbitrary<Item> = fc
  .record(
    {
      n: fc.integer({ min: 0, max: 5 }),
      s: fc.constantFrom('x', 'xy', 'z'),
      m: value,
      set: fc.oneof(numbers, texts),
    },
    { requiredKeys: [] },
  )
  .map(item => ({ ...item }))

const fault = fc.integer({ min: 0, max: 30 })

type Key = { readonly pk: string; readonly sk: string }

/** No two items have one sort key in an index: DynamoDB does not say how it orders such items. */
const viewSort = ({ pk, sk }: Key, nth: number) => 4 * (5 * PARTITIONS.indexOf(pk) + SORTS.indexOf(sk)) + nth
const placeSort = ({ pk, sk }: Key, nth: number) => `${'1'.repeat(nth)}${pk}${sk}`

/** Entries of the indexes. A few have an empty key, or a key of another kind. */
const indexKeysOf = (one: Key): fc.Arbitrary<Item> =>
  fc
    .tuple(
      fc.constantFrom(undefined, 'v1', 'v2'),
      fc.constantFrom(undefined, 'p1', 'p2'),
      fc.integer({ min: 0, max: 3 }),
      fault,
    )
    .map(([vpk, ppk, nth, wrong]) => ({
      ...(vpk && { vpk: wrong === 0 ? '' : vpk, vsk: wrong === 1 ? 'text' : viewSort(one, nth) }),
      ...(ppk && { ppk, psk: placeSort(one, nth) }),
    }))

const item = key.chain(one =>
  fc.tuple(attributes, indexKeysOf(one)).map(parts => Object.assign({}, one, ...parts) as Item),
)

/** Names and values of one request, each used at least once. */
type Text = {
  readonly text: string
  readonly names: Record<string, string>
  readonly values: Record<string, unknown>
}

const path = fc
  .tuple(fc.constantFrom(...ATTRIBUTES, 'm', 'm'), fc.constantFrom([], [], ['x'], ['y', 'x'], ['1']))
  .map(([name, below]): { text: string; names: Record<string, string> } => {
    const parts = [name, ...(name === 'm' ? below : [])]
    return {
      text: parts.map(part => `#${part}`).join('.'),
      names: Object.fromEntries(parts.map(part => [`#${part}`, part])),
    }
  })

let aliases = 0
const given = (one: unknown): Text => {
  aliases = (aliases + 1) % 1_000
  return { text: `:v${aliases}`, names: {}, values: { [`:v${aliases}`]: one } }
}

const joined = (texts: readonly string[], ...parts: ReadonlyArray<Partial<Text>>): Text => ({
  text: texts.join(''),
  names: Object.assign({}, ...parts.map(({ names }) => names)),
  values: Object.assign({}, ...parts.map(({ values }) => values)),
})

const existence = fc
  .tuple(fc.constantFrom('attribute_exists', 'attribute_not_exists'), path)
  .map(([name, at]) => joined([name, '(', at.text, ')'], at))
const beginning = fc
  .tuple(path, fc.oneof({ weight: 6, arbitrary: fc.constantFrom('', 'x') }, scalar))
  .map(([at, prefix]) => {
    const one = given(prefix)
    return joined(['begins_with(', at.text, ', ', one.text, ')'], at, one)
  })
const comparison = fc
  .tuple(
    path,
    fc.constantFrom('=', '<>', '<', '<=', '>', '>='),
    fc.oneof({ weight: 5, arbitrary: scalar }, value),
    fc.boolean(),
  )
  .map(([at, sign, with_, isTurned]) => {
    const one = given(with_)
    return joined(isTurned ? [one.text, ` ${sign} `, at.text] : [at.text, ` ${sign} `, one.text], at, one)
  })
const betweenPaths = fc
  .tuple(path, fc.constantFrom('=', '<', '>='), path)
  .filter(([left, , right]) => left.text !== right.text)
  .map(([left, sign, right]) => joined([left.text, ` ${sign} `, right.text], left, right))

const test = fc.oneof(existence, beginning, comparison, betweenPaths)
const condition: fc.Arbitrary<Text> = fc.oneof(
  test,
  fc
    .tuple(test, fc.constantFrom(' AND ', ' OR '), test, fc.constantFrom(' AND ', ' OR '), test, fc.boolean())
    .map(([a, first, b, second, c, isGrouped]) =>
      joined(
        isGrouped
          ? [a.text, first, '(', b.text, second, c.text, ')']
          : [a.text, first, b.text, second, c.text],
        ...[a, b, c],
      ),
    ),
)

const sum = fc.oneof(
  { weight: 3, arbitrary: value.map(given) },
  path.map(at => joined([at.text], at)),
  fc.tuple(path, fc.constantFrom('+', '-'), fc.integer({ min: 1, max: 5 })).map(([at, sign, more]) => {
    const one = given(more)
    return joined([at.text, ` ${sign} `, one.text], at, one)
  }),
  fc.tuple(path, scalar).map(([at, otherwise]) => {
    const one = given(otherwise)
    return joined(['if_not_exists(', at.text, ', ', one.text, ')'], at, one)
  }),
)

const setting = fc.tuple(path, sum).map(([at, to]) => joined([at.text, ' = ', to.text], at, to))
const adding = fc
  .tuple(
    path,
    fc.oneof({ weight: 3, arbitrary: fc.oneof(fc.integer({ min: -2, max: 2 }), numbers) }, texts, scalar),
  )
  .map(([at, more]) => {
    const one = given(more)
    return joined([at.text, ' ', one.text], at, one)
  })
const removing = path.map(at => joined([at.text], at))

const clause = (name: string, actions: readonly Text[]) =>
  actions.length === 0 ? [] : [joined([`${name} ${actions.map(({ text }) => text).join(', ')}`], ...actions)]

const update = fc
  .tuple(
    fc.array(setting, { maxLength: 2 }),
    fc.array(removing, { maxLength: 1 }),
    fc.array(adding, { maxLength: 1 }),
  )
  .map(([sets, removes, adds]) => [
    ...clause('SET', sets),
    ...clause('REMOVE', removes),
    ...clause('ADD', adds),
  ])
  .filter(clauses => clauses.length > 0)
  .map(clauses => joined([clauses.map(({ text }) => text).join(' ')], ...clauses))

/** Names and values as a request has them: none instead of empty ones. Some requests have one too many, or one too few. */
function aliasesOf(nth: number, ...texts: ReadonlyArray<Text | undefined>): object {
  const all = joined([], ...texts.map(one => one ?? {}))
  if (nth === 0) all.names['#unused'] = 'unused'
  if (nth === 1) delete all.names[Object.keys(all.names)[0] ?? '']
  if (nth === 2) delete all.values[Object.keys(all.values)[0] ?? '']
  return {
    ...(Object.keys(all.names).length > 0 && { ExpressionAttributeNames: all.names }),
    ...(Object.keys(all.values).length > 0 && { ExpressionAttributeValues: all.values }),
  }
}

const maybeCondition = fc.option(condition, { nil: undefined })
const returned = fc.constantFrom(undefined, 'ALL_OLD' as const)
const conditionOf = (one: Text | undefined, onFailure: 'ALL_OLD' | undefined) => ({
  ...(one && { ConditionExpression: one.text }),
  ...(onFailure && { ReturnValuesOnConditionCheckFailure: onFailure }),
})

/** The table in memory knows the updated values of whole attributes alone. */
function returning(wanted: 'ALL_NEW' | 'UPDATED_NEW' | undefined, text: string) {
  if (wanted === undefined || (wanted === 'UPDATED_NEW' && text.includes('.'))) return {}
  return { ReturnValues: wanted }
}

export function requestsOn(table: string): fc.Arbitrary<Request> {
  const TableName = table
  const put = fc.tuple(item, maybeCondition, returned, fault).map(
    ([Item, one, onFailure, nth]): Request => ({
      operation: 'put',
      request: { TableName, Item, ...conditionOf(one, onFailure), ...aliasesOf(nth, one) },
    }),
  )
  const remove = fc.tuple(key, maybeCondition, returned, fault).map(
    ([Key, one, onFailure, nth]): Request => ({
      operation: 'delete',
      request: { TableName, Key, ...conditionOf(one, onFailure), ...aliasesOf(nth, one) },
    }),
  )
  const change = fc
    .tuple(
      key,
      update,
      maybeCondition,
      returned,
      fc.constantFrom(undefined, 'ALL_NEW' as const, 'UPDATED_NEW' as const),
      fault,
    )
    .map(
      ([Key, does, one, onFailure, ReturnValues, nth]): Request => ({
        operation: 'update',
        request: {
          ...{ TableName, Key, UpdateExpression: does.text, ...conditionOf(one, onFailure) },
          ...returning(ReturnValues, does.text),
          ...aliasesOf(nth, does, one),
        },
      }),
    )
  const get = fc.tuple(key, fc.boolean()).map(
    ([Key, ConsistentRead]): Request => ({
      operation: 'get',
      request: { TableName, Key, ConsistentRead },
    }),
  )
  const batch = fc.uniqueArray(key, { minLength: 1, maxLength: 4, selector: one => JSON.stringify(one) }).map(
    (Keys): Request => ({
      operation: 'batchGet',
      request: { RequestItems: { [table]: { Keys, ConsistentRead: true } } },
    }),
  )
  return fc.oneof(
    { weight: 4, arbitrary: put },
    { weight: 6, arbitrary: change },
    { weight: 1, arbitrary: remove },
    { weight: 1, arbitrary: get },
    { weight: 1, arbitrary: batch },
    { weight: 4, arbitrary: queries(TableName) },
  )
}

const INDEXED = {
  table: { pk: 'pk', sk: 'sk', partitions: PARTITIONS, sortOf: ({ sk }: Key) => sk },
  view: { pk: 'vpk', sk: 'vsk', partitions: ['v1', 'v2'], sortOf: viewSort },
  place: { pk: 'ppk', sk: 'psk', partitions: ['p1', 'p2'], sortOf: placeSort },
} as const

const COMPARISONS = ['#sk = :from', '#sk < :from', '#sk <= :from', '#sk > :from', '#sk >= :from']
const BETWEEN = '#sk BETWEEN :from AND :to'
const PREFIXED = 'begins_with(#sk, :from)'

function queries(TableName: string): fc.Arbitrary<Request> {
  const of = (index: keyof typeof INDEXED) => {
    const { pk, sk, partitions, sortOf } = INDEXED[index]
    const positions = fc.tuple(key, fc.integer({ min: 0, max: 3 }))
    const sorts = positions.map(([one, nth]) => sortOf(one, nth))
    const where = index === 'table' ? { ConsistentRead: true } : { IndexName: index }
    const comparison = fc.constantFrom(undefined, ...COMPARISONS, BETWEEN, sk === 'vsk' ? BETWEEN : PREFIXED)
    const range = fc
      .tuple(comparison, fc.constantFrom(...partitions), sorts, sorts)
      .map(([text, partition, from, to]) => ({
        KeyConditionExpression: ['#pk = :pk', ...(text ? [text] : [])].join(' AND '),
        ExpressionAttributeNames: { '#pk': pk, ...(text && { '#sk': sk }) },
        ExpressionAttributeValues: {
          ...{ ':pk': partition, ...(text && { ':from': from }), ...(text === BETWEEN && { ':to': to }) },
        },
      }))
    const start = fc.tuple(positions, fc.constantFrom(...partitions)).map(([[one, nth], partition]) => ({
      ExclusiveStartKey: { ...one, [pk]: partition, [sk]: sortOf(one, nth) },
    }))
    const form = fc.record(
      {
        ScanIndexForward: fc.boolean(),
        Limit: fc.integer({ min: 1, max: 3 }),
        Select: fc.constant('COUNT' as const),
      },
      { requiredKeys: [] },
    )
    // DynamoDB Local leaves out the position of a page that ends at a bound of the table's sort key, and refuses a
    // position at that bound. AWS documents neither, so pages of the table have no bounds.
    const isPaged = (page: object, after: object) => 'Limit' in page || 'ExclusiveStartKey' in after
    const isBounded = ({ KeyConditionExpression: text }: { readonly KeyConditionExpression: string }) =>
      index === 'table' && /[:#]sk (=|[<>]=|BETWEEN)/.test(text)
    return fc
      .tuple(range, form, fc.option(start, { nil: {} }))
      .filter(([within, page, after]) => !isBounded(within) || !isPaged(page, after))
      .map(
        ([within, page, after]): Request => ({
          operation: 'query',
          request: { TableName, ...where, ...within, ...page, ...after },
        }),
      )
  }
  return fc.oneof(of('table'), of('view'), of('place'))
}

export function transactionsOn(TableName: string): fc.Arbitrary<TransactItem[]> {
  const put = fc.tuple(item, maybeCondition, returned).map(
    ([Item, one, onFailure]): TransactItem => ({
      Put: { TableName, Item, ...conditionOf(one, onFailure), ...aliasesOf(9, one) },
    }),
  )
  const change = fc.tuple(key, update, maybeCondition, returned).map(
    ([Key, does, one, onFailure]): TransactItem => ({
      Update: {
        TableName,
        Key,
        UpdateExpression: does.text,
        ...conditionOf(one, onFailure),
        ...aliasesOf(9, does, one),
      },
    }),
  )
  const check = fc.tuple(key, condition, returned).map(
    ([Key, one, onFailure]): TransactItem => ({
      ConditionCheck: {
        TableName,
        Key,
        ConditionExpression: one.text,
        ...conditionOf(undefined, onFailure),
        ...aliasesOf(9, one),
      },
    }),
  )
  const keyOf = (one: TransactItem) => {
    const [{ Item, Key }] = Object.values(one) as [{ Item?: Item; Key?: Item }]
    return JSON.stringify([(Item ?? Key)?.pk, (Item ?? Key)?.sk])
  }
  return fc.uniqueArray(fc.oneof(put, change, check), { minLength: 1, maxLength: 3, selector: keyOf })
}
