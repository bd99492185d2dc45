import { describe, expect, it } from 'vitest'
import type { Given } from '../../support/http/http-workers.ts'
import {
  aLimitedFleet,
  byUser,
  many,
  mostAtOnce,
  printMeasured,
  spansOf,
} from '../../support/limits/limited-fleet.ts'
import { isFullScale, scaled } from '../../support/scale.ts'

const { system, aWorker, startsOf, configure, publishAll, succeeded } = aLimitedFleet()

describe('workers that die', () => {
  it('lose their permits when their leases end, and the limit is never exceeded', async () => {
    const [workers, count, kills] = scaled([3, 28, 1], [10, 120, 8])
    await configure('clip', { limits: { concurrency: { max: 3, key: 'userId' } } })
    const fleet = await Promise.all(Array.from({ length: workers }, () => aWorker(['--concurrency', '4'])))

    const input = { sleepMs: 800, report: system.reportUrl }
    await publishAll(
      'clip',
      many(count, 'killed-', nth => ({ userId: `u${nth % 2}`, input, leaseMs: 2_000 })),
    )
    const killedAt: number[] = []
    // SQS hides a message that a dead worker had received for half a minute. The test therefore waits until most are served.
    await system.reportWhen(() => startsOf('killed-').length > (isFullScale ? 0 : 6))
    for (let nth = 0; nth < kills; nth++) {
      const since = Date.now()
      const { pid } = await system.reportWhen(({ event, at }) => event === 'started' && at >= since)
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

async function counts(type: string): Promise<{ running: number; succeeded: number }> {
  return (await system.call('GET', `/v1/types/${type}/counts`)).body
}

let occupations = 0

/** Starts runs that occupy all workers or permits of a type, until the returned function cancels them. */
async function occupy(type: string, count: number): Promise<() => Promise<void>> {
  occupations += 1
  const prefix = `hold-${occupations}-`
  const input = { report: system.reportUrl, sleepMs: 600_000 }
  await publishAll(
    type,
    many(count, prefix, () => ({ priority: 9, input })),
  )
  await system.reportWhen(() => startsOf(prefix).length >= count)
  return async () => {
    for (const { key } of many(count, prefix)) await system.call('POST', `/v1/tasks/${type}:${key}/cancel`)
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
    // A few of the other tasks begin next to the last urgent ones. Without an order nearly all would.
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
    if (isFullScale) await expect.poll(async () => (await counts('probe')).succeeded).toBeGreaterThan(0)
    else await publishing
    const paused = await system.call('POST', '/v1/types/probe/pause')
    const acknowledgedAt = Date.now()
    await publishing
    await letGo?.()
    await publishAll(
      'probe',
      many(1, 'pause-late', () => ({})),
    )
    // Now a start would be possible, but for the pause.
    await expect.poll(async () => (await counts('probe')).running).toBe(0)
    const waiting = await system.taskWhen(
      'probe:pause-late0',
      ({ statusReason }) => statusReason === 'paused',
    )
    const resumedAt = Date.now()
    const resumed = await system.call('POST', '/v1/types/probe/resume')
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
