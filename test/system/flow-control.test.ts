import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Given } from '../support/http-workers.ts'
import { type LocalSystem, startLocalSystem } from '../support/local-system.ts'

/** Each of these as many as CONTROL_SCALE says; the numbers of docs/measured.md are those of 1. */
const SCALE = Number(process.env.CONTROL_SCALE ?? 0.2)

let system: LocalSystem

beforeAll(async () => {
  system = await startLocalSystem()
  system.cloud.scheduler.disable('Sweep')
  await system.cloud.functions.find('Probe').warm(4)
})

afterAll(() => system?.stop())

/** What is said about the type that the probes are of. */
async function configure(more: Readonly<Record<string, unknown>>): Promise<void> {
  const defaults = { heartbeatMs: 500, leaseMs: 2_000, retry: { backoff: 'fixed', delayMs: 100 } }
  const { status, body } = await system.call('PUT', '/v1/types/probe', { kind: 'handler', defaults, ...more })
  expect(body).toMatchObject(more)
  expect(status).toBe(200)
}

async function publishAll(bodies: ReadonlyArray<Readonly<Record<string, unknown>>>): Promise<void> {
  const pages = Array.from({ length: Math.ceil(bodies.length / 100) }, (_, page) =>
    bodies.slice(page * 100, page * 100 + 100),
  )
  await Promise.all(
    pages.map(async page => {
      const tasks = page.map(body => ({ type: 'probe', input: {}, ...body }))
      const { status, body } = await system.call('POST', '/v1/tasks', { tasks })
      expect([status, body.results.find((one: Given) => one.status > 201)]).toEqual([200, undefined])
    }),
  )
}

/** All tasks of the probe's type whose keys begin so, read until `count` of them have succeeded. */
async function succeeded(prefix: string, count: number, limitMs = 60_000): Promise<Given[]> {
  for (const end = Date.now() + limitMs; ; await sleep(200)) {
    const found = await listed('succeeded', prefix)
    if (found.length >= count) return found
    if (Date.now() > end) throw new Error(`only ${found.length} of ${count} succeeded in ${limitMs} ms`)
  }
}

async function listed(status: string, prefix: string): Promise<Given[]> {
  const items: Given[] = []
  let cursor: string | undefined
  do {
    const query = `type=probe&status=${status}&limit=100${cursor ? `&cursor=${cursor}` : ''}`
    const { body } = await system.call('GET', `/v1/tasks?${query}`)
    items.push(...body.items)
    cursor = body.nextCursor
  } while (cursor)
  return items.filter(({ key }) => key.startsWith(prefix))
}

const startOf = (task: Given) => Date.parse(task.runs.at(-1).startedAt)
const endOf = (task: Given) => Date.parse(task.runs.at(-1).endedAt)

/** The most starts in any span of so many ms. */
function mostStarts(tasks: readonly Given[], spanMs: number): number {
  const starts = tasks.map(startOf).sort((a, b) => a - b)
  return Math.max(...starts.map(at => starts.filter(other => other >= at && other < at + spanMs).length))
}

/** The most runs at one moment. */
function mostAtOnce(tasks: readonly Given[]): number {
  return Math.max(
    ...tasks.map(
      task => tasks.filter(one => startOf(one) <= startOf(task) && endOf(one) > startOf(task)).length,
    ),
  )
}

function tell(what: string, value: unknown): void {
  if (process.env.MEASURE) console.log(`measured: ${what}: ${JSON.stringify(value)}`)
}

describe('a rate limit', () => {
  it('of 50 a second by key is never exceeded in any second, and loses little', async () => {
    const count = Math.round(1_000 * SCALE)
    await configure({ limits: { rate: { limit: 50, perMs: 1_000, key: 'userId' } } })

    await publishAll(
      Array.from({ length: count }, (_, nth) => ({ key: `rate-${nth}`, userId: `u${nth % 3}` })),
    )
    const done = await succeeded('rate-', count)

    const starts = done.map(startOf)
    const tookMs = Math.max(...starts) - Math.min(...starts)
    const idealMs = (Math.ceil(Math.ceil(count / 3) / 50) - 1) * 1_000
    const most = ['u0', 'u1', 'u2'].map(user =>
      mostStarts(
        done.filter(({ userId }) => userId === user),
        1_000,
      ),
    )
    tell(`rate limit, ${count} tasks`, {
      tookMs,
      idealMs,
      most,
      runs: done.map(one => one.runs.length).reduce((a, b) => a + b),
    })
    expect(Math.max(...most)).toBeLessThanOrEqual(50)
    expect(tookMs).toBeLessThanOrEqual(idealMs * 1.05 + 150)
  })
})

describe('a concurrency limit', () => {
  it('of 3 by key never has a fourth run, and loses no permit', async () => {
    const count = Math.round(150 * SCALE)
    await configure({ limits: { concurrency: { max: 3, key: 'userId' } } })

    await publishAll(
      Array.from({ length: count }, (_, nth) => ({
        key: `permit-${nth}`,
        userId: `u${nth % 2}`,
        input: { sleepMs: 60 },
      })),
    )
    const begunAt = Date.now()
    const done = await succeeded('permit-', count)

    const most = ['u0', 'u1'].map(user => mostAtOnce(done.filter(({ userId }) => userId === user)))
    tell(`concurrency limit, ${count} tasks`, { tookMs: Date.now() - begunAt, most })
    expect(Math.max(...most)).toBeLessThanOrEqual(3)
  })
})

describe('priority', () => {
  it('runs what is urgent before what came earlier', async () => {
    const [low, high] = [Math.round(500 * SCALE), Math.round(50 * SCALE)]
    await configure({ ordering: 'priority', limits: { concurrency: { max: 10 } } })

    await publishAll(
      Array.from({ length: low }, (_, nth) => ({ key: `low-${nth}`, priority: 1, input: { sleepMs: 100 } })),
    )
    await publishAll(
      Array.from({ length: high }, (_, nth) => ({
        key: `high-${nth}`,
        priority: 9,
        input: { sleepMs: 100 },
      })),
    )
    const publishedAt = Date.now()
    const [lows, highs] = [await succeeded('low-', low), await succeeded('high-', high)]

    const lastHigh = Math.max(...highs.map(startOf))
    const between = lows.filter(task => startOf(task) > publishedAt && startOf(task) < lastHigh).length
    const before = lows.filter(task => startOf(task) < lastHigh).length
    tell('priority', { low, high, between, before, tookMs: lastHigh - publishedAt })
    expect(between).toBeLessThanOrEqual(low * 0.05)
  })
})

describe('a pause', () => {
  it('lets nothing begin once it is acknowledged, and its end lets all go on', async () => {
    const count = Math.round(5_000 * SCALE * SCALE)
    await configure({ limits: {} })

    await publishAll(
      Array.from({ length: count }, (_, nth) => ({ key: `pause-${nth}`, input: { sleepMs: 20 } })),
    )
    const paused = await system.call('POST', '/v1/types/probe/pause')
    const acknowledgedAt = Date.now()
    await sleep(1_500)
    const before = await listed('succeeded', 'pause-')
    const [waiting] = await listed('ready', 'pause-')
    const resumedAt = Date.now()
    const resumed = await system.call('POST', '/v1/types/probe/resume')
    const done = await succeeded('pause-', count)

    const during = done.filter(task => startOf(task) > acknowledgedAt && startOf(task) < resumedAt)
    tell('pause', { count, before: before.length, drainMs: Math.max(...done.map(endOf)) - resumedAt })
    expect([paused.body, resumed.body]).toEqual([
      { type: 'probe', paused: true },
      { type: 'probe', paused: false },
    ])
    expect(during).toEqual([])
    expect(waiting?.statusReason).toBe('paused')
  })
})
