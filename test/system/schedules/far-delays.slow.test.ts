import { DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb'
import { beforeAll, expect, it } from 'vitest'
import { MINUTE_SHARDS, minutePlaceName } from '../../../shared/core/place/place.ts'
import { splitTaskId } from '../../../shared/core/task/task.ts'
import { aLocalSystem, hasEnded } from '../../support/local-system/local-system.ts'
import { aShiftedClock } from '../../support/local-system/shifted-clock.ts'
import { scaled } from '../../support/scale.ts'
import { measured } from '../../support/workers/worker-fleet.ts'

/**
 * Tests delays that are longer than an SQS delay reaches (15 minutes), here called far. The tests move the functions' clock to the
 * due time, and Scheduler's clock with it.
 */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE

/** How many tasks are due in one far minute. */
const CROWD = scaled(1_000, 20_000)

const clock = aShiftedClock()
const system = aLocalSystem({ environment: clock.environment })
const sent: Array<{ readonly key: string; readonly delaySeconds: number }> = []

beforeAll(async () => {
  system.cloud.scheduler.disable('Sweep')
  system.cloud.faults.add({
    service: 'sqs',
    operation: 'SendMessageBatch',
    matches: noteDispatches,
    action: 'delay',
  })
  await system.cloud.functions.find('Probe').warm(1)
})

/** Records the dispatches of every batch that is sent. It matches no batch, so the fault hits none. */
function noteDispatches({ Entries = [] }: Record<string, unknown>): boolean {
  for (const { MessageBody, DelaySeconds } of Entries as Array<Record<string, unknown>>) {
    const { id, head } = JSON.parse(String(MessageBody))
    if (head) sent.push({ key: splitTaskId(id)?.key ?? '', delaySeconds: Number(DelaySeconds) })
  }
  return false
}

/** The number of the first minute that begins in `minutes` minutes or later. */
function minuteIn(minutes: number): number {
  return Math.ceil(clock.now() / MINUTE) + minutes
}

const publish = (type: string, key: string, dueAt: number) =>
  system.publish({ type, key, input: {}, dueAt: new Date(dueAt).toISOString() })

function schedulesOf(minute: number): string[] {
  const schedules = system.cloud.scheduler.schedules().filter(({ Name }) => Name === `minute-${minute}`)
  return schedules.map(({ ScheduleExpression }) => ScheduleExpression)
}

const scheduled = (minute: number) => expect.poll(() => schedulesOf(minute).length, { interval: 20 }).toBe(1)

const dispatched = (prefix: string) => sent.filter(({ key }) => key.startsWith(prefix))
const keysOf = (prefix: string) => new Set(dispatched(prefix).map(({ key }) => key))

async function moveTo(time: number): Promise<void> {
  await system.cloud.scheduler.advance(clock.moveTo(time))
}

/** How late the task started, in ms. */
async function lateness(id: string): Promise<number> {
  const task = await system.taskWhen(id, hasEnded, 15_000)
  return Date.parse(task.startedAt) - Date.parse(task.dueAt)
}

async function entriesOf(minute: number): Promise<number> {
  const client = new DynamoDBClient(system.cloud.clientOptions)
  const TableName = system.cloud.resource('AWS::DynamoDB::GlobalTable').physicalId
  const counts = Array.from({ length: MINUTE_SHARDS }, async (_, shard) => {
    const { Count = 0 } = await client.send(
      new QueryCommand({
        TableName,
        IndexName: 'place',
        KeyConditionExpression: 'ppk = :place',
        ExpressionAttributeValues: { ':place': { S: minutePlaceName(minute, shard) } },
      }),
    )
    return Count
  })
  const total = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  client.destroy()
  return total
}

it('one EventBridge schedule fires two minutes before a far task is due, even after throttled calls; an SQS delay covers the rest', async () => {
  const minute = minuteIn(16)
  const begins = minute * MINUTE
  const throttled = system.cloud.faults.add({
    service: 'scheduler',
    operation: 'CreateSchedule',
    action: 'throttle',
    times: 3,
  })
  await publish('video', 'exact-1', begins + 5 * SECOND)
  await publish('video', 'exact-2', begins + 55 * SECOND)

  await scheduled(minute)
  const before = [...dispatched('exact')]
  await moveTo(begins - 110 * SECOND)
  await expect.poll(() => keysOf('exact').size).toBe(2)

  expect(throttled()).toBe(3)
  expect(before).toEqual([])
  const delays = new Map(dispatched('exact').map(({ key, delaySeconds }) => [key, delaySeconds]))
  for (const [key, delay] of [
    ['exact-1', 115],
    ['exact-2', 165],
  ] as const) {
    expect(delays.get(key)).toBeLessThanOrEqual(delay)
    expect(delays.get(key)).toBeGreaterThanOrEqual(delay - 3)
  }
}, 30_000)

it('a task due in 16 minutes starts at its time, and so does one whose EventBridge schedule was lost', async () => {
  const minute = minuteIn(16)
  const [begins, next] = [minute * MINUTE, (minute + 1) * MINUTE]
  const kept = await publish('probe', 'in-16-minutes', begins + 58 * SECOND)
  await scheduled(minute)
  let dropped = 0
  system.cloud.faults.add({
    service: 'scheduler',
    operation: 'CreateSchedule',
    matches: () => ++dropped > 0,
    action: 'drop',
    times: 1,
  })
  const lost = await publish('probe', 'lost', next)
  await expect.poll(() => dropped, { interval: 20 }).toBe(1)

  await moveTo(begins + 56 * SECOND)
  await system.cloud.scheduler.fire('Sweep')
  const late = await Promise.all([lateness(kept), lateness(lost)])

  measured('a task due in 16 minutes starts late by', late[0])
  measured('one whose schedule was lost', late[1])
  expect(schedulesOf(minute + 1)).toEqual([])
  expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
}, 30_000)

it('tasks that are changed, cancelled or removed leave no entry in their minute', async () => {
  const minute = minuteIn(20)
  const ids = await Promise.all(['a', 'b', 'c'].map(key => publish('video', `gone-${key}`, minute * MINUTE)))
  await scheduled(minute)
  const before = await entriesOf(minute)

  const path = (index: number) => `/v1/tasks/${ids[index]}`
  await system.call('PATCH', path(0), { dueAt: new Date(minute * MINUTE + DAY).toISOString() })
  await system.call('POST', `${path(1)}/cancel`)
  await system.call('DELETE', path(2))
  const after = await entriesOf(minute)
  await system.cloud.scheduler.fire(`minute-${minute}`)
  await expect.poll(() => wakesLeft()).toBe(0)

  expect([before, after]).toEqual([3, 0])
  expect(dispatched('gone')).toEqual([])
})

function wakesLeft(): number {
  return system.cloud.inspectQueue(system.cloud.resource('AWS::SQS::Queue', 'TasksMessagesWakeQueue').arn)
    .messages.length
}

it(`${CROWD} tasks due in one far minute share one EventBridge schedule and are all dispatched`, async () => {
  const minute = minuteIn(17)
  const tasks = Array.from({ length: CROWD }, (_, nth) => ({
    type: 'video',
    key: `crowd-${nth}`,
    input: {},
    dueAt: new Date(minute * MINUTE + ((nth * 7) % MINUTE)).toISOString(),
  }))
  await system.publishAll(tasks)
  await expect.poll(() => entriesOf(minute)).toBe(CROWD)
  await scheduled(minute)

  await moveTo(minute * MINUTE - 2 * MINUTE)
  const firedAt = Date.now()
  await expect.poll(() => keysOf('crowd').size, { interval: 50 }).toBe(CROWD)

  measured(`${CROWD} tasks of one far minute dispatched within`, Date.now() - firedAt)
  expect(schedulesOf(minute)).toEqual([])
}, 300_000)

it('a task due in 400 days starts at its time, and a task may wait for ten years', async () => {
  const dueAt = Math.ceil(clock.now() / SECOND) * SECOND + 400 * DAY
  const id = await publish('probe', 'in-400-days', dueAt)
  const decade = await system.publish({ type: 'probe', key: 'in-10-years', input: {}, delayMs: 3_652 * DAY })
  await scheduled(Math.floor(dueAt / MINUTE))

  await moveTo(dueAt - 2 * SECOND)
  const late = await lateness(id)

  measured('a task due in 400 days starts late by', late)
  expect(late).toBeGreaterThanOrEqual(0)
  expect((await system.call('GET', `/v1/tasks/${decade}`)).body).toMatchObject({ statusReason: 'due' })
}, 30_000)
