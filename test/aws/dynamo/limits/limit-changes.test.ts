import { GetItemCommand } from '@aws-sdk/client-dynamodb'
import { beforeEach, expect, it } from 'vitest'
import { passesFilters, readFilters } from '../../../../local/mappings/event-pattern.ts'
import { PERMITS_SORT_KEY, permitsPartition } from '../../../../shared/aws/dynamo/keys.ts'
import { limitChangeIn } from '../../../../shared/aws/dynamo/limits/limit-changes.ts'
import { synthesise } from '../../../infra/synthesised.ts'
import { aMeteredDynamo } from '../../../support/dynamo/metered-dynamo.ts'
import { NOW } from '../../../support/tasks/a-task.ts'

/**
 * The planner must be invoked for exactly two of the writes of a limit's permits: its filter is tried on the item as it
 * stands after each write.
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

/** What the planner is told of the last write. */
async function told(): Promise<unknown> {
  const Keys = { pk: { S: permitsPartition(LIMIT) }, sk: { S: PERMITS_SORT_KEY } }
  const { Item = {} } = await dynamo
    .storesOf(table)
    .documents.send(new GetItemCommand({ TableName: table, Key: Keys }))
  const isInvoked = passesFilters(filters, { eventName: 'MODIFY', dynamodb: { Keys, NewImage: Item } })
  const change = limitChangeIn(Item as Parameters<typeof limitChangeIn>[0])
  expect(isInvoked).toBe(change !== undefined)
  return change
}

it('permits that are taken and given back tell nothing as long as no task waits', async () => {
  await limits.acquire(LIMIT, holder('a'), 2)
  expect(await told()).toBeUndefined()

  await limits.renew(LIMIT, 'a', NOW + 1)
  expect(await told()).toBeUndefined()

  await limits.release(LIMIT, 'a')
  expect(await told()).toBeUndefined()
})

it('the note that a task waits is told once, and each permit that is given back under it', async () => {
  for (const name of ['a', 'b']) await limits.acquire(LIMIT, holder(name), 2)
  await limits.noteWaiting(LIMIT, NOW + 5, most)
  expect(await told()).toEqual({ kind: 'noted', limit: LIMIT, since: NOW + 5 })

  await limits.release(LIMIT, 'a')
  expect(await told()).toEqual({ kind: 'freed', limit: LIMIT })

  await limits.acquire(LIMIT, holder('c'), 2)
  expect(await told()).toBeUndefined()

  await limits.release(LIMIT, 'b')
  expect(await told()).toEqual({ kind: 'freed', limit: LIMIT })

  await limits.renewWaiting(LIMIT, NOW + 9, NOW + 5)
  expect(await told()).toBeUndefined()
})

it('a stale holder that a look takes out is not told, nor what follows the last note', async () => {
  for (const name of ['a', 'b']) await limits.acquire(LIMIT, holder(name), 2)
  await limits.noteWaiting(LIMIT, NOW + 5, most)

  await limits.release(LIMIT, 'a', NOW)
  expect(await told()).toBeUndefined()

  await limits.clearWaiting(LIMIT, NOW + 5)
  expect(await told()).toBeUndefined()

  await limits.release(LIMIT, 'b')
  expect(await told()).toBeUndefined()
})
