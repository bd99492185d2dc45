import { expect, it } from 'vitest'
import type { Call } from '../../../local/gateway/call.ts'
import type { Gateway } from '../../../local/gateway/gateway.ts'
import { refusingRepeatedItems, reportingSlowness } from '../../../local/stores/stores.ts'
import { deployTables } from '../../../local/stores/tables.ts'
import type { Stack } from '../../../local/template/stack.ts'

const KEY = [{ AttributeName: 'PK', KeyType: 'HASH' }]
const PROPERTIES = {
  TableName: 'things',
  KeySchema: KEY,
  AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }],
  GlobalSecondaryIndexes: [{ IndexName: 'byPK', KeySchema: KEY, Projection: { ProjectionType: 'ALL' } }],
}

/** A stack with one table, and a store that has the table without its index. Its descriptions fail as `failures` says. */
function aStore(failures: string[]) {
  const stack = {
    ids: () => ['Things'],
    describe: () => ({ physicalId: 'things' }),
    properties: () => PROPERTIES,
    learn: () => {},
  } as unknown as Stack
  let isUpdated = false
  const gateway = {
    call: async (_caller: string, _service: string, operation: string) => {
      if (operation === 'ListTables') return { TableNames: ['things'] }
      if (operation === 'UpdateTable') isUpdated = true
      const failure = operation === 'DescribeTable' && isUpdated ? failures.shift() : undefined
      if (failure) throw new Error(`dynamodb DescribeTable answered 500: {"__type":"${failure}"}`)
      const Table = { ...PROPERTIES, GlobalSecondaryIndexes: [], TableStatus: 'ACTIVE' }
      return { Table, TableDescription: Table, TimeToLiveDescription: { TimeToLiveStatus: 'DISABLED' } }
    },
  } as unknown as Gateway
  return deployTables(stack, gateway, [])
}

it('a deployment continues when DynamoDB Local cannot describe a table whose index it makes', async () => {
  const failures = Array.from({ length: 3 }, () => 'com.amazonaws.dynamodb.v20120810#InternalFailure')
  await aStore(failures)
  expect(failures).toEqual([])
})

it('a deployment ends with any other refusal, and names the table', async () => {
  await expect(aStore(['AccessDenied'])).rejects.toThrow(
    'The table things cannot be deployed: dynamodb DescribeTable answered 500: {"__type":"AccessDenied"}',
  )
})

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

it('a store that is slow is reported once, with the call that waits, until it has been quick for a minute', async () => {
  const logged: string[] = []
  const held = Promise.withResolvers<typeof reached>()
  const slow = reportingSlowness(
    () => held.promise,
    line => void logged.push(line),
    1,
  )
  const call = { operation: 'PutItem', body: Buffer.from('{"TableName":"tasks"}') } as Call

  const answers = [slow(call), slow(call)]
  await expect.poll(() => logged.length).toBeGreaterThan(0)
  answers.push(slow(call))
  await new Promise(resolve => setTimeout(resolve, 5))
  held.resolve(reached)

  expect(await Promise.all(answers)).toEqual([reached, reached, reached])
  expect(logged).toEqual([
    'the store is slow: DynamoDB Local has not answered PutItem on tasks in time; until it does, runs wait and the API answers 503',
  ])
})
