import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { totalOf } from '../../../local/gateway/meter.ts'
import { anHttpWorker, type Given } from '../../support/http/http-workers.ts'
import {
  aLimitedFleet,
  byUser,
  many,
  mostAtOnce,
  printMeasured,
  spansOf,
} from '../../support/limits/limited-fleet.ts'
import { scale } from '../../support/scale.ts'

const RATES: Readonly<Record<string, readonly [perSecond: number, tasks: number]>> = {
  middle: [20, 400],
  full: [50, 1_000],
}

const { system, aWorker, configure, publishAll, succeeded } = aLimitedFleet()

/** The largest number of starts within any second. */
function mostInASecond(tasks: readonly Given[]): number {
  const starts = spansOf(tasks).map(({ from }) => from)
  return Math.max(...starts.map(at => starts.filter(other => other >= at && other < at + 1_000).length))
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
        anHttpWorker(system, ['errand'], () => ({ outcome: 'succeed' }), `clerk-${nth}`),
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
    const published = system.cloud.meter.snapshot()
    if (dueAt) await sleep(Date.parse(dueAt) + idealMs - Date.now())
    const done = await succeeded(type, 'rate-', count)
    const unitsEach = totalOf(system.cloud.meter.since(published)).writeUnits / count
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
