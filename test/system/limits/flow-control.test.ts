import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { totalOf } from '../../../local/gateway/meter.ts'
import { anHttpWorker, type Given } from '../../support/http/http-workers.ts'
import { PATIENCE_MS } from '../../support/local-system/local-system.ts'
import { isFullScale, scale, scaled } from '../../support/scale.ts'
import { aWorkerFleet } from '../../support/workers/worker-fleet.ts'

const RATES: Readonly<Record<string, readonly [perSecond: number, tasks: number]>> = {
  middle: [20, 400],
  full: [50, 1_000],
}

const { system, aWorker, startsOf } = aWorkerFleet()

beforeAll(async () => {
  system().cloud.scheduler.disable('Sweep')
  await configure('errand', { kind: 'http' })
})

/** Sets the configuration of a type. The leases are so long that no run on a busy machine loses its lease. */
async function configure(type: string, more: Readonly<Record<string, unknown>>): Promise<void> {
  const defaults = { heartbeatMs: 500, leaseMs: 60_000, retry: { backoff: 'fixed', delayMs: 100 } }
  const { status, body } = await system().call('PUT', `/v1/types/${type}`, {
    kind: 'handler',
    defaults,
    ...more,
  })
  expect(body).toMatchObject(more)
  expect(status).toBeLessThanOrEqual(201)
}

type Body = Readonly<Record<string, unknown>>

async function publishAll(type: string, bodies: readonly Body[]): Promise<void> {
  for (let start = 0; start < bodies.length; start += 100) {
    const tasks = bodies.slice(start, start + 100).map(body => ({ type, input: {}, ...body }))
    const { status, body } = await system().call('POST', '/v1/tasks/batch', { tasks })
    expect([status, body.results.find((one: Given) => one.status > 201)]).toEqual([200, undefined])
  }
}

function many(count: number, prefix: string, parts: (nth: number) => Body = () => ({})): Body[] {
  return Array.from({ length: count }, (_, nth) => ({ key: `${prefix}${nth}`, ...parts(nth) }))
}

/** Waits until the tasks that `many` made have succeeded. Returns all succeeded tasks whose keys have the prefix. */
async function succeeded(
  type: string,
  prefix: string,
  count: number,
  limitMs = PATIENCE_MS,
): Promise<Given[]> {
  // The counts of a type cost 28 queries; the state of one task costs one read.
  for (const { key } of many(count, prefix)) {
    await system().taskWhen(`${type}:${key}`, ({ status }) => status === 'succeeded', limitMs)
  }
  return listed(type, 'succeeded', prefix)
}

async function listed(type: string, status: string, prefix: string): Promise<Given[]> {
  const items: Given[] = []
  let cursor: string | undefined
  do {
    const query = `type=${type}&status=${status}&limit=100${cursor ? `&cursor=${cursor}` : ''}`
    const { body } = await system().call('GET', `/v1/tasks?${query}`)
    items.push(...body.items)
    cursor = body.nextCursor
  } while (cursor)
  return items.filter(({ key }) => key.startsWith(prefix))
}

type Span = { readonly from: number; readonly to: number }

function spansOf(tasks: readonly Given[]): Span[] {
  return tasks
    .flatMap(({ runs }) => runs)
    .map(({ startedAt, endedAt }) => ({ from: Date.parse(startedAt), to: Date.parse(endedAt) }))
}

/** The largest number of starts within any second. */
function mostInASecond(tasks: readonly Given[]): number {
  const starts = spansOf(tasks).map(({ from }) => from)
  return Math.max(...starts.map(at => starts.filter(other => other >= at && other < at + 1_000).length))
}

/** The largest number of runs at any moment. */
function mostAtOnce(tasks: readonly Given[]): number {
  const spans = spansOf(tasks)
  return Math.max(...spans.map(({ from }) => spans.filter(one => one.from <= from && one.to > from).length))
}

function byUser(tasks: readonly Given[], most: (some: readonly Given[]) => number): number[] {
  return [...Map.groupBy(tasks, ({ userId }) => userId).values()].map(most)
}

function printMeasured(what: string, value: unknown): void {
  if (process.env.MEASURE) console.log(`measured: ${what}: ${JSON.stringify(value)}`)
}

/** The kinds of workers: Lambda, a worker process, a worker over HTTP. */
const SERVERS = [
  ['Lambda', 'probe', async () => undefined],
  ['a worker', 'clip', async () => void (await aWorker(['--concurrency', '2000']))],
  [
    'a worker over HTTP',
    'errand',
    async () => {
      const clerks = Array.from({ length: scale === 'usual' ? 1 : 4 }, (_, nth) =>
        anHttpWorker(system(), ['errand'], () => ({ outcome: 'succeed' }), `clerk-${nth}`),
      )
      return { stop: async () => void (await Promise.all(clerks.map(clerk => clerk.stop()))) }
    },
  ],
] as const

describe.each(SERVERS)('for %s', (name, type, serve) => {
  const kind = type === 'errand' ? 'http' : 'handler'

  it('a rate limit by key is never exceeded in any second', async () => {
    const large = type === 'probe' ? undefined : RATES[scale]
    const [limit, count] = large ?? [6, 24]
    await configure(type, { kind, limits: { rate: { limit, perMs: 1_000, key: 'userId' } } })
    const server = await serve()
    const idealMs = Math.floor((Math.ceil(count / 3) - 1) / limit) * 1_000
    // To publish many tasks takes a while. The tasks fall due after that.
    const dueAt = large && new Date(Date.now() + count * 12).toISOString()

    await publishAll(
      type,
      many(count, 'rate-', nth => ({ userId: `u${nth % 3}`, ...(dueAt && { dueAt }) })),
    )
    const published = system().cloud.meter.snapshot()
    if (dueAt) await sleep(Date.parse(dueAt) + idealMs - Date.now())
    const done = await succeeded(type, 'rate-', count)
    const unitsEach = totalOf(system().cloud.meter.since(published)).writeUnits / count
    await server?.stop()

    const starts = spansOf(done).map(({ from }) => from)
    const tookMs = Math.max(...starts) - Math.min(...starts)
    const most = byUser(done, mostInASecond)
    printMeasured(`rate limit of ${limit}/s for ${name}, ${count} tasks`, {
      tookMs,
      idealMs,
      most,
      unitsEach,
    })
    expect(Math.max(...most)).toBeLessThanOrEqual(limit)
    // The claim of a task costs 1 unit, and its end costs 3.
    if (dueAt && type === 'clip') expect(unitsEach).toBeLessThanOrEqual(4 + 2)
  })

  it('a concurrency limit by key is never exceeded by a run', async () => {
    const count = 10
    await configure(type, { kind, limits: { concurrency: { max: 3, key: 'userId' } } })
    const server = await serve()

    const input = type === 'errand' ? {} : { sleepMs: 60 }
    await publishAll(
      type,
      many(count, 'permit-', nth => ({ userId: `u${nth % 2}`, input })),
    )
    const begunAt = Date.now()
    const done = await succeeded(type, 'permit-', count)
    await server?.stop()

    const most = byUser(done, mostAtOnce)
    printMeasured(`concurrency limit for ${name}, ${count} tasks`, { tookMs: Date.now() - begunAt, most })
    expect(Math.max(...most)).toBeLessThanOrEqual(3)
  })
})

describe('workers that die', () => {
  it('lose their permits when their leases end, and the limit is never exceeded', async () => {
    const [workers, count, kills] = scaled([3, 28, 1], [10, 120, 8])
    await configure('clip', { limits: { concurrency: { max: 3, key: 'userId' } } })
    const fleet = await Promise.all(Array.from({ length: workers }, () => aWorker(['--concurrency', '4'])))

    const input = { sleepMs: 800, report: system().reportUrl }
    await publishAll(
      'clip',
      many(count, 'killed-', nth => ({ userId: `u${nth % 2}`, input, leaseMs: 2_000 })),
    )
    const killedAt: number[] = []
    // SQS hides a message that a dead worker had received for half a minute. The test therefore waits until most are served.
    await system().reportWhen(() => startsOf('killed-').length > (isFullScale ? 0 : 6))
    for (let nth = 0; nth < kills; nth++) {
      const since = Date.now()
      const { pid } = await system().reportWhen(({ event, at }) => event === 'started' && at >= since)
      fleet.find(worker => worker.pid === pid)?.signal('SIGKILL')
      killedAt.push(Date.now())
      fleet.push(await aWorker(['--concurrency', '4']))
    }
    const done = await succeeded('clip', 'killed-', count, 120_000)

    const most = byUser(done, mostAtOnce)
    const gaps = lostRuns(done).map(({ userId, endedAt }) => nextStart(done, userId, endedAt) - endedAt)
    const lateness = lostRuns(done).map(
      ({ endedAt }) => endedAt - Math.max(...killedAt.filter(at => at < endedAt)),
    )
    printMeasured(`concurrency limit, ${workers} workers, ${kills} killed`, { count, most, gaps, lateness })
    expect(Math.max(...most)).toBeLessThanOrEqual(3)
    expect(lostRuns(done).length).toBeGreaterThan(0)
  })
})

type LostRun = { readonly userId: string; readonly endedAt: number }

function lostRuns(tasks: readonly Given[]): LostRun[] {
  return tasks.flatMap(({ userId, runs }) =>
    runs
      .filter(({ state }: Given) => state === 'lost')
      .map(({ endedAt }: Given) => ({ userId, endedAt: Date.parse(endedAt) })),
  )
}

/** The time at which the next run of the user began; infinite when no task was left. */
function nextStart(tasks: readonly Given[], userId: string, after: number): number {
  const starts = spansOf(tasks.filter(task => task.userId === userId)).map(({ from }) => from)
  return Math.min(...starts.filter(from => from >= after))
}

let occupations = 0

/** Starts runs that occupy all workers or permits of a type, until the returned function cancels them. */
async function occupy(type: string, count: number): Promise<() => Promise<void>> {
  occupations += 1
  const prefix = `hold-${occupations}-`
  const input = { report: system().reportUrl, sleepMs: 600_000 }
  await publishAll(
    type,
    many(count, prefix, () => ({ priority: 9, input })),
  )
  await system().reportWhen(() => startsOf(prefix).length >= count)
  return async () => {
    for (const { key } of many(count, prefix)) await system().call('POST', `/v1/tasks/${type}:${key}/cancel`)
  }
}

describe('priority', () => {
  const [concurrency, low, high] = scaled([4, 28, 8], [10, 500, 50])

  it.each([
    ['Lambda, with a concurrency limit', 'probe', { concurrency: { max: concurrency } }],
    ['a worker', 'clip', {}],
  ])('for %s runs urgent tasks before earlier ones', async (name, type, limits) => {
    const input = { sleepMs: 100 }
    await configure(type, { ordering: 'priority', limits })
    if (type === 'clip') await aWorker(['--concurrency', `${concurrency}`])
    // Without these runs, most of a few tasks would have begun before the urgent ones are published.
    const letGo = isFullScale ? undefined : await occupy(type, concurrency)

    await publishAll(
      type,
      many(low, 'low-', () => ({ priority: 1, input })),
    )
    await publishAll(
      type,
      many(high, 'high-', () => ({ priority: 9, input })),
    )
    const publishedAt = Date.now()
    await letGo?.()
    const highs = await succeeded(type, 'high-', high)
    const lows = await succeeded(type, 'low-', low)

    const lastHigh = Math.max(...spansOf(highs).map(({ from }) => from))
    const between = spansOf(lows).filter(({ from }) => from > publishedAt && from < lastHigh).length
    const before = spansOf(lows).filter(({ from }) => from <= publishedAt).length
    printMeasured(`priority for ${name}`, { low, high, before, between, tookMs: lastHigh - publishedAt })
    // A few of the other tasks begin beside the last urgent ones. Without an order nearly all would.
    expect(between).toBeLessThanOrEqual(low * scaled(0.25, 0.05))
  })
})

describe('a pause', () => {
  it('prevents every start once it is acknowledged, and a resume starts all remaining tasks', async () => {
    const count = scaled(14, 5_000)
    await configure('probe', { ordering: 'arrival', limits: scaled({ concurrency: { max: 3 } }, {}) })
    // Without these runs, all of a few tasks might have begun before the pause.
    const letGo = isFullScale ? undefined : await occupy('probe', 3)

    const publishing = publishAll(
      'probe',
      many(count, 'pause-', () => ({ input: { sleepMs: 150 } })),
    )
    if (isFullScale) await sleep(300)
    else await publishing
    const paused = await system().call('POST', '/v1/types/probe/pause')
    const acknowledgedAt = Date.now()
    await publishing
    await letGo?.()
    await publishAll(
      'probe',
      many(1, 'pause-late', () => ({})),
    )
    await sleep(500)
    const { body: waiting } = await system().call('GET', '/v1/tasks/probe:pause-late0')
    const resumedAt = Date.now()
    const resumed = await system().call('POST', '/v1/types/probe/resume')
    await succeeded('probe', 'pause-late', 1, 240_000)
    const done = await succeeded('probe', 'pause-', count, 240_000)

    const during = spansOf(done).filter(({ from }) => from > acknowledgedAt && from < resumedAt)
    const before = spansOf(done).filter(({ from }) => from <= acknowledgedAt).length
    printMeasured('pause', {
      count,
      before,
      drainMs: Math.max(...spansOf(done).map(({ to }) => to)) - resumedAt,
    })
    expect(before).toBeLessThan(count)
    expect([paused.body.paused, resumed.body.paused]).toEqual([true, false])
    expect(during).toEqual([])
    expect(waiting).toMatchObject({ status: 'ready', statusReason: 'paused' })
  })
}, 300_000)
