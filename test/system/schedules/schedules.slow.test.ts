import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createAwsSystem } from '../../../shared/aws/system.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { wakeTasks } from '../../../shared/runtime/wake.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

const system = aLocalSystem()

beforeAll(async () => {
  for (const type of ['seconds', 'paused', 'once', 'gone', 'far']) {
    await system.call('PUT', `/v1/types/${type}`, { kind: 'http' })
  }
})

afterAll(async () => {
  vi.unstubAllEnvs()
})

async function put(name: string, body: object) {
  const { status, body: schedule } = await system.call('PUT', `/v1/schedules/${name}`, {
    task: { type: name },
    ...body,
  })
  expect(status).toBe(201)
  return schedule
}

/** The tasks that a schedule has published, earliest due first. */
async function tasksOf(type: string) {
  const { body } = await system.call('GET', `/v1/tasks?type=${type}&limit=100`)
  return body.items as Array<{ key: string; dueAt: string; createdAt: string }>
}

/** A system in the test's process, which acts as a second waker next to the deployed one. */
function anotherWaker(): System {
  const { cloud } = system
  for (const [name, value] of Object.entries(cloud.environment)) vi.stubEnv(name, value)
  const log = { debug: () => {}, info: () => {}, warn: console.error, error: console.error }
  return createAwsSystem({
    table: String(cloud.outputs.TableName),
    system: 'Baton',
    wakeQueueUrl: cloud.resource('AWS::SQS::Queue', 'MessagesWakeQueue').physicalId,
    log,
    metrics: { add: () => {} },
  })
}

/** Serves looks at a schedule whenever it is nearly due, until `isOver`. */
async function keepWaking(waker: System, name: string, isOver: () => boolean): Promise<void> {
  const id = `schedule:${name}`
  while (!isOver()) {
    const head = await waker.tasks.head(id)
    if (head && head.dueAt - Date.now() < 500) {
      await wakeTasks(waker, [{ id, born: head.born, revision: head.revision, hops: 0, delaySeconds: 0 }])
    }
    await sleep(50)
  }
}

/** Even on a busy machine, the request that sets the schedule arrives within this time. The test takes about as long anyway. */
const ONCE_IN_MS = 9_000

/** With this setting, a schedule on a busy machine may be late for a tick, but misses none. */
const MISSED = { catchUp: 1_000 }

async function ticksOf(type: string): Promise<number[]> {
  return (await tasksOf(type)).filter(({ key }) => !key.includes('@now-')).map(tick => Date.parse(tick.dueAt))
}

const until = (type: string, holds: (ticks: readonly number[]) => boolean) =>
  expect.poll(async () => holds(await ticksOf(type)), { interval: 250 }).toBe(true)

describe('schedules', () => {
  it('publish one task for each tick, none early, with two wakers at once; paused and removed schedules publish none', async () => {
    const waker = anotherWaker()
    let isOver = false
    const at = new Date(Date.now() + ONCE_IN_MS).toISOString()
    await put('once', { at })
    await put('seconds', { cron: '* * * * * *', missed: MISSED, task: { type: 'seconds', input: { n: 1 } } })
    await put('paused', { everyMs: 1_000 })
    await put('gone', { cron: '* * * * * *' })
    const waking = ['seconds', 'gone'].map(name => keepWaking(waker, name, () => isOver))
    await until('paused', ticks => ticks.length > 0)
    await until('gone', ticks => ticks.length > 0)

    const pause = await system.call('POST', '/v1/schedules/paused/pause')
    const pausedAt = Date.now()
    const removal = await system.call('DELETE', '/v1/schedules/gone')
    const removedAt = Date.now()
    const trigger = await system.call('POST', '/v1/schedules/paused/trigger')
    await until('seconds', ticks => ticks.some(tick => tick > removedAt + 3_000))
    await expect
      .poll(async () => (await tasksOf('paused')).map(({ key }) => key))
      .toContainEqual(expect.stringMatching(/^paused@now-/))
    const during = await tasksOf('paused')
    const resume = await system.call('POST', '/v1/schedules/paused/resume')
    await until('paused', ticks => ticks.filter(tick => tick > pausedAt).length >= 2)
    await until('seconds', ticks => ticks.length >= 9)
    await until('once', ticks => ticks.length > 0)
    isOver = true
    await Promise.all(waking)
    await system.call('POST', '/v1/schedules/seconds/pause')

    expect([pause.status, removal.status, trigger.status, resume.status]).toEqual([200, 204, 202, 200])
    const ticks = await tasksOf('seconds')
    const times = ticks.map(({ dueAt }) => Date.parse(dueAt))
    expect(ticks.map(({ key }) => key)).toEqual(times.map(time => `seconds@${new Date(time).toISOString()}`))
    expect(times.map((time, index) => time - (times[0] ?? 0) - index * 1_000)).toEqual(times.map(() => 0))
    expect(ticks.filter(({ createdAt, dueAt }) => createdAt < dueAt)).toEqual([])

    const isTrigger = ({ key }: { key: string }) => key.startsWith('paused@now-')
    expect(during.filter(isTrigger)).toHaveLength(1)
    expect(during.filter(one => !isTrigger(one) && Date.parse(one.dueAt) > pausedAt)).toEqual([])
    expect((await ticksOf('gone')).filter(tick => tick > removedAt)).toEqual([])
    expect((await tasksOf('once')).map(({ dueAt }) => dueAt)).toEqual([at])
    await expect
      .poll(async () => (await system.call('GET', '/v1/schedules/once')).body)
      .toMatchObject({ lastRunAt: at, finishedAt: expect.any(String) })
  })

  it('wait for a tick of the next year by the EventBridge schedule of its minute', async () => {
    const { nextRunAt, graceMs } = await put('far', {
      cron: '0 0 1 1 *',
      timezone: 'Asia/Tokyo',
      graceMs: 3_600_000,
    })
    const minute = Math.floor(Date.parse(nextRunAt) / 60_000)
    const names = () => system.cloud.scheduler.schedules().map(({ Name }) => Name)

    await expect.poll(() => names().filter(name => name.includes(String(minute)))).toHaveLength(1)
    expect(graceMs).toBe(3_600_000)
    expect(new Date(nextRunAt).toISOString()).toMatch(/-12-31T15:00:00.000Z$/)
  })
})
