import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { aFolder } from '../../support/a-folder.ts'
import { type LocalSystem, startLocalSystem } from '../../support/local-system/local-system.ts'
import { isFullScale, scaled } from '../../support/scale.ts'
import { synthesise } from '../synthesise.ts'

/** The request publishes at most 1,002 tasks of a canvas. The jobs function publishes a larger canvas. */
const CANVAS_MEMBERS = 1_003
const CANVASES = scaled(2, 50)
const RESUMED_TASKS = scaled(1_600, 32_000)
const PURGED_TASKS = scaled(1_000, 50_000)
const SHARDS = 64
const TAKEOVERS = 12
const LEASE_MS = 15_000
/** The time between the claims of the workers that vanish. Their leases so end while the long jobs are under way. */
const SPACING_MS = 1_500
const PUBLISHES_AT_ONCE = 4

/** Measures how late, in ms, the runs of vanished workers are recorded as lost during a resume, a purge and large canvases. */
async function latenessOn(oneQueue: boolean): Promise<number[]> {
  const assemblyDir = aFolder()
  process.env.BATON_ONE_QUEUE = oneQueue ? 'yes' : ''
  await synthesise('test/system/app-long-jobs.ts', assemblyDir)
  const system = await startLocalSystem({ assemblyDir })
  try {
    await prepare(system)
    const jobs = begin(system)
    const lateness: Array<Promise<number>> = []
    for (let nth = 0; nth < TAKEOVERS; nth++) {
      lateness.push(vanish(system, `watched-${nth}`))
      await sleep(SPACING_MS)
    }
    const late = await Promise.all(lateness)
    await jobs
    return late.sort((a, b) => a - b)
  } finally {
    await system.stop()
  }
}

async function prepare(system: LocalSystem): Promise<void> {
  const put = (type: string, body: object) =>
    system.call('PUT', `/v1/types/${type}`, { kind: 'http', ...body })
  await put('resumed', { shards: SHARDS })
  await put('purged', {})
  await put('member', {})
  // Each worker has a type of its own, so that it cannot claim a task that another worker left behind.
  for (let nth = 0; nth < TAKEOVERS; nth++) await put(`watched-${nth}`, { defaults: { leaseMs: LEASE_MS } })
  await system.call('POST', '/v1/types/resumed/pause')
  await publishAll(system, 'resumed', RESUMED_TASKS)
  await publishAll(system, 'purged', PURGED_TASKS)
}

/** Several publish at once, since there are tens of thousands at full scale. */
async function publishAll(system: LocalSystem, type: string, count: number): Promise<void> {
  const each = count / PUBLISHES_AT_ONCE
  const publish = (_: unknown, batch: number) =>
    system.publishAll(Array.from({ length: each }, (_, nth) => ({ type, key: `${batch}-${nth}` })))
  await Promise.all(Array.from({ length: PUBLISHES_AT_ONCE }, publish))
}

async function begin(system: LocalSystem): Promise<void> {
  await system.call('POST', '/v1/types/purged/purge', { status: ['ready'] })
  await system.call('POST', '/v1/types/resumed/resume')
  const group = Array.from({ length: CANVAS_MEMBERS }, () => ({ type: 'member' }))
  for (let nth = 0; nth < CANVASES; nth++) await system.call('POST', '/v1/canvases', { group })
}

/** Claims a task and sends no heartbeat. Returns the time from the lease's end until the run is recorded as lost. */
async function vanish(system: LocalSystem, type: string): Promise<number> {
  const id = await system.publish({ type, key: 'left' })
  let leaseUntil: number | undefined
  while (leaseUntil === undefined) {
    const { body } = await system.call('POST', '/v1/claims', {
      type,
      workerId: type,
      waitMs: 1_000,
    })
    leaseUntil = body.claims?.[0] && Date.parse(body.claims[0].run.leaseUntil)
  }
  const isLost = (task: { runs?: Array<{ state: string }> }) =>
    task.runs?.some(({ state }) => state === 'lost') === true
  await system.taskWhen(id, isLost, 180_000)
  return Date.now() - leaseUntil
}

it('takeovers continue during a resume of 64 shards, a purge and large canvases, and are earlier than with one queue', async () => {
  const apart = await latenessOn(false)
  const shared = await latenessOn(true)
  console.log('measured: late by ms, queues of their own:', apart, 'one queue:', shared)

  expect(apart).toHaveLength(TAKEOVERS)
  // Only jobs of full size show the use of separate queues.
  if (isFullScale) expect(shared.at(-1)).toBeGreaterThan(apart.at(-1) ?? 0)
}, 1_800_000)
