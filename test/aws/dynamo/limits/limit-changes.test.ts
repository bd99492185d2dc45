import { GetItemCommand } from '@aws-sdk/client-dynamodb'
import { beforeEach, expect, it } from 'vitest'
import { passesFilters, readFilters } from '../../../../local/mappings/event-pattern.ts'
import { PERMITS_SORT_KEY, permitsPartition } from '../../../../shared/aws/dynamo/keys.ts'
import { limitChangeIn } from '../../../../shared/aws/dynamo/limits/limit-changes.ts'
import { holderIn } from '../../../../shared/core/limits/held-permits.ts'
import { synthesise } from '../../../infra/synthesised.ts'
import { aMeteredDynamo } from '../../../support/dynamo/metered-dynamo.ts'
import { NOW } from '../../../support/tasks/a-task.ts'

/**
 * The planner must be invoked for exactly two of the writes of a limit's permits. The tests apply its filter to the item after
 * each write.
 */
const dynamo = aMeteredDynamo()
const { ofType } = synthesise()
const filters = readFilters(
  ofType('AWS::Lambda::EventSourceMapping').find(({ id }) => id.startsWith('TasksPlanner'))?.Properties
    .FilterCriteria,
)

const LIMIT = 'resize=a#b'
const most = { max: 2, staleAt: NOW - 1 }
const holder = (name: string) => ({ holder: name, taskId: `resize:${name}`, since: NOW })

let limits: ReturnType<typeof dynamo.storesOf>['limits']
let table: string

beforeEach(async () => {
  table = await dynamo.createTable()
  limits = dynamo.storesOf(table).limits
})

/** What the stream reports to the planner about the last write. */
async function reported(shard = 0): Promise<unknown> {
  const Keys = { pk: { S: permitsPartition(LIMIT, shard) }, sk: { S: PERMITS_SORT_KEY } }
  const { Item = {} } = await dynamo
    .storesOf(table)
    .documents.send(new GetItemCommand({ TableName: table, Key: Keys }))
  const isInvoked = passesFilters(filters, { eventName: 'MODIFY', dynamodb: { Keys, NewImage: Item } })
  const change = limitChangeIn(Item as Parameters<typeof limitChangeIn>[0])
  expect(isInvoked).toBe(change !== undefined)
  return change
}

it('permits that are acquired and released report nothing while no task waits', async () => {
  await limits.acquire(LIMIT, holder('a'), 2)
  expect(await reported()).toBeUndefined()

  await limits.renew(LIMIT, 'a', NOW + 1)
  expect(await reported()).toBeUndefined()

  await limits.release(LIMIT, 'a')
  expect(await reported()).toBeUndefined()
})

it('the stream reports the note that a task waits once, and each permit that is released under the note', async () => {
  for (const name of ['a', 'b']) await limits.acquire(LIMIT, holder(name), 2)
  await limits.noteWaiting(LIMIT, NOW + 5, most)
  expect(await reported()).toEqual({ kind: 'noted', limit: LIMIT, since: NOW + 5 })

  await limits.release(LIMIT, 'a')
  expect(await reported()).toEqual({ kind: 'freed', limit: LIMIT, shard: 0 })

  await limits.acquire(LIMIT, holder('c'), 2)
  expect(await reported()).toBeUndefined()

  await limits.release(LIMIT, 'b')
  expect(await reported()).toEqual({ kind: 'freed', limit: LIMIT, shard: 0 })

  await limits.renewWaiting(LIMIT, NOW + 9, NOW + 5)
  expect(await reported()).toBeUndefined()
})

it('the stream reports neither a stale holder that a look removes nor a release after the last note', async () => {
  for (const name of ['a', 'b']) await limits.acquire(LIMIT, holder(name), 2)
  await limits.noteWaiting(LIMIT, NOW + 5, most)

  await limits.release(LIMIT, 'a', { since: NOW })
  expect(await reported()).toBeUndefined()

  await limits.clearWaiting(LIMIT, NOW + 5)
  expect(await reported()).toBeUndefined()

  await limits.release(LIMIT, 'b')
  expect(await reported()).toBeUndefined()
})

it('the stream reports a release in a shard without the note, if its process has read the note', async () => {
  const [a, b] = [0, 1].map(nth => holderIn(3, `abcdefghi${nth}`)) as [string, string]
  for (const name of [a, b]) await limits.acquire(LIMIT, holder(name), 8)

  await limits.release(LIMIT, a)
  expect(await reported(3)).toBeUndefined()

  await limits.release(LIMIT, b, { waitNotedAt: NOW })
  expect(await reported(3)).toEqual({ kind: 'freed', limit: LIMIT, shard: 3 })
})
