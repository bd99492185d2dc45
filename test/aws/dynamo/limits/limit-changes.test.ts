import { GetItemCommand } from '@aws-sdk/client-dynamodb'
import { beforeEach, expect, it } from 'vitest'
import { passesFilters, readFilters } from '../../../../local/mappings/mapping.ts'
import {
  LINE_SORT_KEYS,
  PERMITS_SORT_KEY,
  permitsPartition,
  SLOTS_SORT_KEY,
  slotsPartition,
} from '../../../../shared/aws/dynamo/keys.ts'
import { limitChangeIn } from '../../../../shared/aws/dynamo/limits/limit-store.ts'
import { holderIn } from '../../../../shared/core/limits/limits.ts'
import { synthesise } from '../../../infra/synthesised.ts'
import { aMeteredDynamo } from '../../../support/dynamo/metered-dynamo.ts'
import { NOW } from '../../../support/tasks/a-task.ts'

/**
 * The planner must be invoked when permits or slots are given back and when a line is noted, and for no other write of a limit. The tests apply its
 * filter to the item after each write.
 */
const dynamo = aMeteredDynamo()
const { ofType } = synthesise()
const filters = readFilters(
  ofType('AWS::Lambda::EventSourceMapping').find(({ id }) => id.startsWith('TasksPlanner'))?.Properties
    .FilterCriteria,
)

const LIMIT = 'resize=a#b'
const LINE = { kind: 'slot', limit: LIMIT } as const
const NONE = { note: undefined, version: 0 }
const noteAt = (lookAt: number) => ({ lookAt, isClosed: true, emptyLooks: 0, sent: [] })
const PERMITS = { pk: { S: permitsPartition(LIMIT) }, sk: { S: PERMITS_SORT_KEY } }
const SLOT_LINE = { pk: { S: slotsPartition(LIMIT) }, sk: { S: LINE_SORT_KEYS.slot } }
const holder = (name: string) => ({ holder: name, taskId: `resize:${name}`, since: NOW })

let limits: ReturnType<typeof dynamo.storesOf>['limits']
let table: string

beforeEach(async () => {
  table = await dynamo.createTable()
  limits = dynamo.storesOf(table).limits
})

/** What the stream reports to the planner about the last write. */
async function reported(Keys = PERMITS): Promise<unknown> {
  const { Item = {} } = await dynamo
    .storesOf(table)
    .documents.send(new GetItemCommand({ TableName: table, Key: Keys }))
  const isInvoked = passesFilters(filters, { eventName: 'MODIFY', dynamodb: { Keys, NewImage: Item } })
  const change = limitChangeIn(Item as Parameters<typeof limitChangeIn>[0])
  expect(isInvoked).toBe(change !== undefined)
  return change
}

it('the stream reports each permit that is given back, and not those that are taken, renewed or removed as stale', async () => {
  for (const name of ['a', 'b']) await limits.acquire(LIMIT, holder(name), 2)
  expect(await reported()).toBeUndefined()

  await limits.renew(LIMIT, 'a', NOW + 1)
  expect(await reported()).toBeUndefined()

  await limits.release(LIMIT, 'a')
  expect(await reported()).toEqual({ kind: 'freed', limit: LIMIT, shard: 0 })

  await limits.acquire(LIMIT, holder('c'), 2)
  expect(await reported()).toBeUndefined()

  await limits.release(LIMIT, 'b', NOW)
  expect(await reported()).toBeUndefined()
})

it('the stream reports the note that tasks wait once, and no look at the line', async () => {
  await limits.putLine(LINE, noteAt(NOW + 5), NONE, { isNoted: true })
  expect(await reported(SLOT_LINE)).toEqual({ kind: 'noted', line: LINE, lookAt: NOW + 5 })

  await limits.putLine(LINE, noteAt(NOW + 9), await limits.line(LINE))
  expect(await reported(SLOT_LINE)).toBeUndefined()
})

it('the stream reports how many slots are given back, and none that is reserved', async () => {
  const keys = { pk: { S: slotsPartition(LIMIT) }, sk: { S: SLOTS_SORT_KEY } }
  const log = { limit: 5, perMs: 1_000, counts: [], granted: 1 }
  await limits.putSlots(LIMIT, log, { log: undefined, version: 0 }, { expiresAt: NOW })
  expect(await reported(keys)).toBeUndefined()

  await limits.putSlots(LIMIT, log, await limits.slots(LIMIT), { expiresAt: NOW, returned: 2 })
  expect(await reported(keys)).toEqual({ kind: 'returned', line: LINE, slots: 2 })

  await limits.putSlots(LIMIT, log, await limits.slots(LIMIT), { expiresAt: NOW })
  expect(await reported(keys)).toBeUndefined()
})

it('the stream reports a release in any shard', async () => {
  const name = holderIn(3, 'abcdefghi0')
  await limits.acquire(LIMIT, holder(name), 8)

  await limits.release(LIMIT, name)

  const keys = { ...PERMITS, pk: { S: permitsPartition(LIMIT, 3) } }
  expect(await reported(keys)).toEqual({ kind: 'freed', limit: LIMIT, shard: 3 })
})
