import { DeleteCommand, GetCommand } from '@aws-sdk/lib-dynamodb'
import { beforeAll, expect, it } from 'vitest'
import { TICK_REMAINS_MS } from '../../../shared/core/bounds.ts'
import { cancel } from '../../../shared/core/operate/operate.ts'
import { isGone } from '../../../shared/core/publish.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { putSchedule } from '../../../shared/runtime/schedule/schedule.ts'
import { tickSchedule } from '../../../shared/runtime/schedule/tick-schedule.ts'
import { aDynamo } from '../../support/dynamo/a-dynamo.ts'
import type { DynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { changeOf, HOUR, MINUTE, NOW } from '../../support/tasks/a-task.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'
import { aMemorySystem, beforeWrites, noAnswer, registered } from '../../support/worlds/memory-system.ts'

const dynamo = aDynamo()
let stores: DynamoStores
let system: MemorySystem

beforeAll(async () => {
  stores = await dynamo.newStores()
  system = { ...aMemorySystem(), ...stores }
  // DynamoDB Local deletes what has expired by the time of the machine.
  await system.clock.advance(Date.now() - NOW)
  await registered(system)
})

/** Deletes the head of a task as DynamoDB does once its TTL has passed; answers whether it did. */
async function expire(id: string): Promise<boolean> {
  const item = { TableName: stores.table, Key: { pk: id, sk: 'head' } }
  const { Item } = await stores.documents.send(new GetCommand(item))
  const isExpired = Item?.ttl !== undefined && Item.ttl * 1_000 <= system.clock.now()
  if (isExpired) await stores.documents.send(new DeleteCommand(item))
  return isExpired
}

/** A waker that dies between the task of a tick and the head of its schedule. */
const dying = () => beforeWrites(system, ({ operation }) => operation === 'tick' && noAnswer())

it('a tick whose task has no retention is published once, though its schedule stays due', async () => {
  const timing = { kind: 'at', at: system.clock.now() + MINUTE } as const
  const task = { type: 'resize', retentionMs: 0 }
  await putSchedule(system, 's', { timing, missed: { catchUp: 1 }, graceMs: 300_000, task })
  const id = `resize:s@${new Date(timing.at).toISOString()}`
  const headOf = () => readTask(stores, id)
  await system.clock.advance(MINUTE)
  await expect(tickSchedule(dying(), { id: 'schedule:s' })).rejects.toThrow('no answer')
  const published = await headOf()
  if (!published) throw new Error('not published')
  await stores.tasks.apply(changeOf(cancel(published, system.clock.now())))
  await system.clock.advance(HOUR)
  const isDeletedEarly = await expire(id)

  await tickSchedule(system, { id: 'schedule:s' })

  const remains = await headOf()
  expect(isDeletedEarly).toBe(false)
  expect(remains).toMatchObject({ born: published.born, state: 'cancelled' })
  expect(isGone(remains, system.clock.now())).toBe(true)
  expect(await stores.tasks.head('schedule:s')).toMatchObject({ state: 'succeeded' })

  await system.clock.advance(TICK_REMAINS_MS)
  expect(await expire(id)).toBe(true)
})
