import { expect, it } from 'vitest'
import type { Call } from '../../../local/gateway/call.ts'
import { refusingRepeatedItems } from '../../../local/stores/stores.ts'

const KEYS: Readonly<Record<string, readonly string[]>> = { tasks: ['pk', 'sk'], orders: ['id'] }
const reached = { status: 200, headers: {}, body: Buffer.from('{}') }
const backend = refusingRepeatedItems(
  async () => reached,
  table => KEYS[table],
)
const transact = (TransactItems: unknown, operation = 'TransactWriteItems') =>
  backend({ operation, body: Buffer.from(JSON.stringify({ TransactItems })) } as Call)

const head = { pk: { S: 'a:b' }, sk: { S: 'head' } }
const put = { Put: { TableName: 'tasks', Item: { ...head, born: { S: '1' } } } }

it.each([
  ['two puts', [put, put]],
  ['a put and an update', [put, { Update: { TableName: 'tasks', Key: head } }]],
  ['a put and a check of its condition', [put, { ConditionCheck: { TableName: 'tasks', Key: head } }]],
])('%s of one item in a transaction are refused, as by DynamoDB', async (_what, items) => {
  const { status, body } = await transact(items)

  expect(status).toBe(400)
  expect(JSON.parse(String(body))).toMatchObject({
    __type: 'ValidationException',
    message: 'Transaction request cannot include multiple operations on one item',
  })
})

it.each([
  ['items of other keys', [put, { Put: { TableName: 'tasks', Item: { ...head, sk: { S: 'in#1' } } } }]],
  ['items of other tables', [{ Put: { TableName: 'orders', Item: { id: { S: 'a' } } } }, put]],
  [
    'an unknown table',
    [{ Delete: { TableName: 'else', Key: {} } }, { Delete: { TableName: 'else', Key: {} } }],
  ],
  ['nothing', undefined],
])('a transaction of %s reaches DynamoDB', async (_what, items) => {
  expect(await transact(items)).toBe(reached)
})

it('other calls reach DynamoDB', async () => {
  expect(await transact([put, put], 'TransactGetItems')).toBe(reached)
})
