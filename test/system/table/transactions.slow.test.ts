import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, GetCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { minuteOf } from '../../../shared/core/place/place.ts'
import { createTableClient, type TableClient } from '../../../shared/table/table-client.ts'
import { taskAlreadyExists } from '../../../shared/table/transact-items.ts'
import { aLocalSystem, hasEnded } from '../../support/local-system/local-system.ts'
import { aShiftedClock } from '../../support/local-system/shifted-clock.ts'
import { setEnvironment } from '../../support/process-environment.ts'
import type { probe } from '../tasks/probe.ts'

/**
 * A program of the user, under a role that may write the user's table of orders and has `grantPublish`, publishes within its
 * transactions. The planner, the waker and the workers do the rest.
 */

const DAY = 86_400_000
const LARGE = { result: 'x'.repeat(5_000) }

const clock = aShiftedClock()
const system = aLocalSystem({ environment: clock.environment })
let table: TableClient
let documents: DynamoDBDocumentClient
let orders: string
let restore: () => void

beforeAll(() => {
  system.cloud.scheduler.disable('Sweep')
  const { resources, environment, outputs } = system.cloud
  const role = Object.keys(resources).find(id => /^Shop[0-9A-F]{8}$/.test(id)) ?? ''
  restore = setEnvironment({ ...environment, AWS_ACCESS_KEY_ID: role })
  table = createTableClient({ table: String(outputs.TableName) })
  documents = DynamoDBDocumentClient.from(new DynamoDBClient())
  orders = system.cloud.resource('AWS::DynamoDB::Table', 'Orders').physicalId
})

afterAll(() => {
  documents?.destroy()
  restore?.()
})

type Entries = Awaited<ReturnType<TableClient['transactItems']>>

const transact = (order: string, entries: Entries) => {
  const putOrder = { Put: { TableName: orders, Item: { id: order } } }
  return documents.send(new TransactWriteCommand({ TransactItems: [putOrder, ...entries] }))
}
const hasOrder = async (id: string) => {
  const { Item } = await documents.send(new GetCommand({ TableName: orders, Key: { id } }))
  return Item !== undefined
}
const configure = async (type: string, configuration: object) => {
  expect((await system.call('PUT', `/v1/types/${type}`, configuration)).status).toBe(201)
}
/** Claims over HTTP, one task after the other, until none is left. Each run ends before the next claim, unless `holds`. */
const claimedKeys = async (type: string, { holds = false } = {}) => {
  const keys: string[] = []
  for (;;) {
    const { body } = await system.call('POST', '/v1/claims', { type, workerId: `w${keys.length}`, limit: 1 })
    const [claim] = body.claims
    if (!claim) return keys
    keys.push(claim.task.key)
    const path = `/v1/tasks/${claim.task.id}/runs/${claim.run.id}/succeed`
    if (!holds) expect((await system.call('POST', path, { fence: claim.run.fence })).status).toBe(200)
  }
}

it.each([
  ['a small input', 'small', { result: 'done' }],
  ['a large input', 'large', LARGE],
])(
  'a task with %s runs once its transaction has succeeded, and not when it was cancelled',
  async (_what, key, input) => {
    const done = await table.transactItems<typeof probe>('probe', input, { key })
    const again = await table.transactItems<typeof probe>('probe', { result: 'another' }, { key })

    await transact(`${key}-1`, done)
    const cancelled = await transact(`${key}-2`, again).catch((error: unknown) => error)

    expect(await table.result('probe', { key }, { timeoutMs: 60_000 })).toBe(input.result)
    expect(taskAlreadyExists(cancelled)).toEqual({ id: `probe:${key}`, position: 1, isRemoved: false })
    expect([await hasOrder(`${key}-1`), await hasOrder(`${key}-2`)]).toEqual([true, false])
  },
)

it('callbacks are published at its end, also those that are items of their own', async () => {
  const onSuccess = [{ type: 'probe', key: 'called-back', input: LARGE }]

  await transact(
    'callbacks',
    await table.transactItems('probe', { result: 1 }, { key: 'calling', onSuccess }),
  )

  await system.taskWhen('probe:called-back', hasEnded)
  expect(await table.get('probe:called-back')).toMatchObject({
    parentId: 'probe:calling',
    result: LARGE.result,
  })
})

it('tasks of tenants take turns', async () => {
  await configure('stall', { kind: 'http', shards: 1 })
  for (const key of ['a1', 'a2', 'a3', 'b1', 'b2']) {
    await transact(key, await table.transactItems('stall', {}, { key, fairnessKey: key.slice(0, 1) }))
  }

  expect(await claimedKeys('stall')).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
})

it('a concurrency limit counts them, also by a field of an input that is an item of its own', async () => {
  await configure('packing', { kind: 'http', limits: { concurrency: { max: 1, key: 'account' } } })
  for (const key of ['a1', 'a2', 'b1']) {
    const input = { account: key.slice(0, 1), ...LARGE }
    await transact(key, await table.transactItems('packing', input, { key }))
  }

  const held = await claimedKeys('packing', { holds: true })

  expect(held.map(key => key.slice(0, 1)).sort()).toEqual(['a', 'b'])
  const waiting = ['a1', 'a2'].find(key => !held.includes(key))
  expect(await table.get(`packing:${waiting}`)).toMatchObject({ status: 'ready' })
})

it('a rate limit counts them', async () => {
  await configure('mailing', { kind: 'http', limits: { rate: { limit: 2, perMs: 3_600_000 } } })
  for (const key of ['1', '2', '3']) await transact(key, await table.transactItems('mailing', {}, { key }))

  expect(await claimedKeys('mailing')).toHaveLength(2)
})

it('a task that is due in 20 days waits in its minute, and runs then', async () => {
  const delayMs = 20 * DAY
  await transact('far', await table.transactItems('probe', LARGE, { key: 'far', delayMs }))
  const { dueAt } = await table.get('probe:far')
  const name = `minute-${minuteOf(Date.parse(dueAt))}`
  const isScheduled = () => system.cloud.scheduler.schedules().some(({ Name }) => Name === name)

  await expect.poll(isScheduled).toBe(true)
  await system.cloud.scheduler.advance(clock.moveTo(Date.parse(dueAt)))

  expect(await system.taskWhen('probe:far', hasEnded)).toMatchObject({ status: 'succeeded' })
})

it('the entries of two calls for one key are refused together, as by DynamoDB', async () => {
  const make = () => table.transactItems('probe', {}, { key: 'both' })

  const sent = transact('both', [...(await make()), ...(await make())])

  await expect(sent).rejects.toMatchObject({ name: 'ValidationException' })
  expect(await hasOrder('both')).toBe(false)
})

it('nothing was denied', () => {
  expect(system.cloud.denials).toEqual([])
})
