import { beforeAll, describe, expect, it } from 'vitest'
import type { RequestOf } from '../../../shared/aws/dynamo/documents.ts'
import { aDynamo } from '../../support/dynamo/a-dynamo.ts'
import type { TransactItem } from '../../support/dynamo/memory-transactions.ts'
import { type Request, type TwoTables, twoTables } from './two-tables.ts'

/** What the table in memory refuses because of DynamoDB's quotas and rules, and what it does not know. */

const dynamo = aDynamo()
let both: TwoTables

beforeAll(async () => {
  both = twoTables(dynamo.client(), await dynamo.createTable())
})

const Key = { pk: 'resize:k1', sk: 'head' }
const REFUSED = { refused: true }

const put = (item: object, rest: Partial<RequestOf<'put'>> = {}): Request => ({
  operation: 'put',
  request: { TableName: both.name, Item: { ...Key, ...item }, ...rest },
})
const update = (UpdateExpression: string, rest: Partial<RequestOf<'update'>> = {}): Request => ({
  operation: 'update',
  request: { TableName: both.name, Key, UpdateExpression, ...rest },
})
const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
const many = (count: number, one: (nth: number) => string, by: string) =>
  Array.from({ length: count }, (_, nth) => one(nth)).join(by)
const names = (...all: string[]) => ({
  ExpressionAttributeNames: Object.fromEntries(all.map(name => [`#${name}`, name])),
})
const values = (...all: unknown[]) => ({
  ExpressionAttributeValues: Object.fromEntries(all.map((value, nth) => [`:v${nth}`, value])),
})

describe('both tables refuse', () => {
  it.each<[string, () => Request]>([
    ['an empty partition key', () => put({ pk: '' })],
    ['an empty sort key', () => put({ sk: '' })],
    ['a partition key of 2,049 bytes', () => put({ pk: 'x'.repeat(2_049) })],
    ['a sort key of 1,026 bytes', () => put({ sk: 'ü'.repeat(513) })],
    ['an empty key of an index', () => put({ vpk: '', vsk: 1 })],
    ['a text as the number of an index', () => put({ vpk: 'a', vsk: '1' })],
    ['a number as the text of an index', () => update('SET #psk = :v0', { ...names('psk'), ...values(1) })],
    ['an item of 400 KB and a byte', () => put({ json: 'x'.repeat(400 * 1_024 - 20) })],
    [
      'an update to more than 400 KB',
      () => update('SET #json = :v0', { ...names('json'), ...values('x'.repeat(400 * 1_024)) }),
    ],
    ['a map of 33 levels', () => put({ a: nested(33) })],
    ['the number NaN', () => put({ due: Number.NaN })],
    ['an infinite number in a map', () => put({ live: { 1: { lease: 1 / 0 } } })],
    ['a number beyond 2^53', () => put({ due: 2 ** 53 })],
    ['the number 1e-200', () => put({ due: 1e-200 })],
    ['an empty set', () => put({ ok: new Set() })],
    ['a set of numbers and texts', () => put({ ok: new Set([1, 'a']) })],
    ['an update of the key', () => update('SET #sk = :v0', { ...names('sk'), ...values('x') })],
    ['two clauses SET', () => update('SET #a = :v0 SET #b = :v0', { ...names('a', 'b'), ...values(1) })],
    ['one path in two clauses', () => update('SET #a = :v0 REMOVE #a', { ...names('a'), ...values(1) })],
    [
      'a path and one below it',
      () => update('SET #a = :v0 REMOVE #a.#b', { ...names('a', 'b'), ...values(1) }),
    ],
    ['an empty expression', () => put({}, { ConditionExpression: '' })],
    ['an unused name', () => put({}, { ConditionExpression: 'attribute_exists(#a)', ...names('a', 'b') })],
    ['a name that is not given', () => put({}, { ConditionExpression: 'attribute_exists(#a)' })],
    [
      'a condition of more than 4 KB',
      () =>
        put({}, { ConditionExpression: many(400, () => '#a = :v0', ' AND '), ...names('a'), ...values(1) }),
    ],
    [
      'a page of an index that is to be strongly consistent',
      () => ({
        operation: 'query',
        request: {
          ...{ TableName: both.name, IndexName: 'view', ConsistentRead: true },
          ...{ KeyConditionExpression: '#vpk = :v0', ...names('vpk'), ...values('a') },
        },
      }),
    ],
    [
      'a batch with one key twice',
      () => ({ operation: 'batchGet', request: { RequestItems: { [both.name]: { Keys: [Key, Key] } } } }),
    ],
    [
      'a batch of 101 keys',
      () => {
        const Keys = Array.from({ length: 101 }, (_, nth) => ({ pk: `k${nth}`, sk: 'head' }))
        return { operation: 'batchGet', request: { RequestItems: { [both.name]: { Keys } } } }
      },
    ],
  ])('%s', async (_name, request) => {
    const { memory, local } = await both.send(request())

    expect(memory).toEqual(REFUSED)
    expect(local).toEqual(REFUSED)
  })

  it('a transaction without entries, and one of 101', async () => {
    const entry = (nth: number): TransactItem => ({
      Delete: { TableName: both.name, Key: { pk: `k${nth}`, sk: 'a' } },
    })
    const all = Array.from({ length: 101 }, (_, nth) => entry(nth))

    expect(await both.transact([])).toEqual({ memory: REFUSED, local: REFUSED })
    expect(await both.transact(all)).toEqual({ memory: REFUSED, local: REFUSED })
  })
})

describe('both tables store', () => {
  it.each<[string, () => Request]>([
    ['an item of exactly 400 KB', () => put({ json: 'x'.repeat(400 * 1_024 - 21) })],
    ['a map of 32 levels', () => put({ a: nested(31) })],
    ['half a surrogate pair in a text', () => put({ json: '"\ud800"' })],
    ['an empty text, null, and a name __proto__', () => put(JSON.parse('{"a":"","b":null,"__proto__":1}'))],
  ])('%s', async (_name, request) => {
    const { memory, local } = await both.send(request())

    expect(memory).toMatchObject({ answer: { isWritten: true } })
    expect(local).toMatchObject({ answer: { isWritten: true } })
  })
})

/** DynamoDB refuses more than DynamoDB Local. The table in memory refuses it, too. */
describe('only DynamoDB and the table in memory refuse', () => {
  it.each<[string, () => Request]>([
    // "ExpressionAttributeNames can only be specified when using expressions", and must not be empty.
    ['no names', () => put({}, { ExpressionAttributeNames: {} })],
    ['no values', () => put({}, { ExpressionAttributeValues: {} })],
    // The SDK leaves it out, so a mistake of ours would go unnoticed.
    ['a value that is undefined', () => put({ due: undefined })],
    // "The maximum number of operators or functions allowed in an UpdateExpression is 300". Source: quotas, developer guide.
    [
      'more than 300 operators',
      () =>
        update(`SET #a = :v0, ${many(301, nth => `#n${nth}=:v0+:v0`, ',')}`, {
          ExpressionAttributeNames: {
            '#a': 'a',
            ...Object.fromEntries(Array.from({ length: 301 }, (_, nth) => [`#n${nth}`, `n${nth}`])),
          },
          ...values(1),
        }),
    ],
  ])('%s', async (_name, request) => {
    expect((await both.send(request())).memory).toEqual(REFUSED)
  })

  // Names are UTF-8. Source: naming rules, developer guide. DynamoDB Local fails with an internal error.
  it('half a surrogate pair in a name', async () => {
    const { documents } = both.memory

    await expect(
      documents.put({ TableName: both.name, Item: { ...Key, live: { '\ud800': 1 } } }),
    ).rejects.toThrow('Unicode')
    const renaming = { UpdateExpression: 'REMOVE #n', ExpressionAttributeNames: { '#n': 'w\udc00' } }
    await expect(documents.update({ TableName: both.name, Key, ...renaming })).rejects.toThrow('Unicode')
  })

  // "You can't target the same item with multiple operations within the same transaction." Source: transactions, developer guide.
  it('two operations on one item in a transaction', async () => {
    const entry: TransactItem = { Delete: { TableName: both.name, Key } }

    expect((await both.transact([entry, entry])).memory).toEqual(REFUSED)
  })
})

describe('the table in memory names what it does not know', () => {
  it.each<[string, object, string]>([
    ['a function', { ConditionExpression: 'contains(#a, :v0)', ...names('a'), ...values(1) }, "'contains'"],
    ['an operator', { ConditionExpression: '#a IN (:v0)', ...names('a'), ...values(1) }, "'IN'"],
    ['an index of a list', { ConditionExpression: 'attribute_exists(#a[0])', ...names('a') }, "'[0])'"],
    ['an attribute without an alias', { ConditionExpression: 'attribute_exists(due)' }, "'due'"],
    ['doubled brackets', { ConditionExpression: '((attribute_exists(#a)))', ...names('a') }, "'('"],
    ['an input', { ReturnItemCollectionMetrics: 'SIZE' }, 'the input ReturnItemCollectionMetrics'],
    ['another table', { TableName: 'others' }, 'a table others'],
  ])('%s', async (_name, rest, part) => {
    const writing = both.memory.documents.put({ TableName: both.name, Item: Key, ...rest })

    await expect(writing).rejects.toThrow(`the table in memory does not know ${part}`)
  })

  it('a clause of an update, and a key condition', async () => {
    const { documents } = both.memory
    const given = { TableName: both.name, ...names('a'), ...values(new Set([1])) }

    await expect(documents.update({ ...given, Key, UpdateExpression: 'DELETE #a :v0' })).rejects.toThrow(
      "'DELETE'",
    )
    await expect(documents.query({ ...given, KeyConditionExpression: '#a <> :v0' })).rejects.toThrow(
      "'#a <> :v0'",
    )
  })
})
