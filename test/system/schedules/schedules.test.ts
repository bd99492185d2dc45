import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createAwsSystem } from '../../../shared/aws/system.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { wakeTasks } from '../../../shared/runtime/wake/wake.ts'
import { type LocalSystem, startLocalSystem } from '../../support/local-system/local-system.ts'

const RUNS_MS = 10_000

let system: LocalSystem

beforeAll(async () => {
  system = await startLocalSystem()
  for (const type of ['seconds', 'paused', 'once', 'gone', 'far']) {
    await system.call('PUT', `/v1/types/${type}`, { kind: 'http' })
  }
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await system?.stop()
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

/** A waker of the test's own, beside the deployed one. */
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

/** Looks at a schedule whenever it is due, until `until`. */
async function keepWaking(waker: System, name: string, until: number): Promise<void> {
  const id = `schedule:${name}`
  while (Date.now() < until) {
    const head = await waker.tasks.head(id)
    if (head && head.dueAt - Date.now() < 500) {
      await wakeTasks(waker, [{ id, born: head.born, revision: head.revision, hops: 0, delaySeconds: 0 }])
    }
    await sleep(50)
  }
}

describe('schedules', () => {
  it('publish one task for each tick, none early, with two schedulers at once; paused and removed ones none', async () => {
    const waker = anotherWaker()
    await put('seconds', { cron: '* * * * * *', task: { type: 'seconds', input: { n: 1 } } })
    await put('paused', { everyMs: 1_000 })
    await put('gone', { cron: '* * * * * *' })
    const at = new Date(Date.now() + 2_500).toISOString()
    await put('once', { at })
    const until = Date.now() + RUNS_MS
    const waking = [keepWaking(waker, 'seconds', until), keepWaking(waker, 'gone', until)]

    await sleep(2_500)
    const pause = await system.call('POST', '/v1/schedules/paused/pause')
    const removal = await system.call('DELETE', '/v1/schedules/gone')
    const trigger = await system.call('POST', '/v1/schedules/paused/trigger')
    await sleep(500)
    const [before, left] = [await tasksOf('paused'), await tasksOf('gone')]
    await sleep(3_000)
    const during = await tasksOf('paused')
    const resume = await system.call('POST', '/v1/schedules/paused/resume')
    const resumedAt = Date.now()
    await Promise.all(waking)
    await system.call('POST', '/v1/schedules/seconds/pause')
    await sleep(1_500)

    expect([pause.status, removal.status, trigger.status, resume.status]).toEqual([200, 204, 202, 200])
    const ticks = await tasksOf('seconds')
    const times = ticks.map(({ dueAt }) => Date.parse(dueAt))
    expect(ticks.map(({ key }) => key)).toEqual(times.map(time => `seconds@${new Date(time).toISOString()}`))
    expect(times.map((time, index) => time - (times[0] ?? 0) - index * 1_000)).toEqual(times.map(() => 0))
    expect(times.length).toBeGreaterThanOrEqual(9)
    expect(ticks.filter(({ createdAt, dueAt }) => createdAt < dueAt)).toEqual([])

    expect(during.map(({ key }) => key)).toEqual(before.map(({ key }) => key))
    expect(during.filter(({ key }) => key.startsWith('paused@now-'))).toHaveLength(1)
    const resumed = (await tasksOf('paused')).slice(during.length)
    expect(resumed.length).toBeGreaterThanOrEqual(2)
    expect(resumed.filter(({ dueAt }) => Date.parse(dueAt) < resumedAt - 1_000)).toEqual([])
    expect(await tasksOf('gone')).toEqual(left)
    expect((await tasksOf('once')).map(({ dueAt }) => dueAt)).toEqual([at])
    const once = await system.call('GET', '/v1/schedules/once')
    expect(once.body).toMatchObject({ lastRunAt: at, finishedAt: expect.any(String) })
  })

  it('wait for a tick in a year by the schedule of its minute', async () => {
    const { nextRunAt, graceMs } = await put('far', {
      cron: '0 0 1 1 *',
      timezone: 'Asia/Tokyo',
      graceMs: 3_600_000,
    })
    const minute = Math.floor(Date.parse(nextRunAt) / 60_000)
    const deadline = Date.now() + 5_000
    const names = () => system.cloud.scheduler.schedules().map(({ Name }) => Name)
    while (!names().some(name => name.includes(String(minute))) && Date.now() < deadline) await sleep(50)

    expect(names().filter(name => name.includes(String(minute)))).toHaveLength(1)
    expect(graceMs).toBe(3_600_000)
    expect(new Date(nextRunAt).toISOString()).toMatch(/-12-31T15:00:00.000Z$/)
  })
})
