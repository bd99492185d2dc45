import { beforeAll, expect } from 'vitest'
import type { Given } from '../http/http-workers.ts'
import { PATIENCE_MS } from '../local-system/local-system.ts'
import { aWorkerFleet, type WorkerFleet } from '../workers/worker-fleet.ts'

type Body = Readonly<Record<string, unknown>>

type LimitedFleet = Omit<WorkerFleet, 'publishAll'> & {
  /** Sets the configuration of a type. The leases are so long that no run on a busy machine loses its lease. */
  configure(type: string, more: Body): Promise<void>
  publishAll(type: string, bodies: readonly Body[]): Promise<void>
  /** Waits until the tasks that `many` made have succeeded. Returns all succeeded tasks whose keys have the prefix. */
  succeeded(type: string, prefix: string, count: number, limitMs?: number): Promise<Given[]>
}

/** Starts a local system for tests of limits. Its type `errand` is claimed over HTTP. */
export function aLimitedFleet(): LimitedFleet {
  const fleet = aWorkerFleet()
  const { system } = fleet

  beforeAll(async () => {
    system.cloud.scheduler.disable('Sweep')
    await configure('errand', { kind: 'http' })
  })

  async function configure(type: string, more: Body): Promise<void> {
    const defaults = { heartbeatMs: 500, leaseMs: 60_000, retry: { backoff: 'fixed', delayMs: 100 } }
    const { status, body } = await system.call('PUT', `/v1/types/${type}`, {
      kind: 'handler',
      defaults,
      ...more,
    })
    expect(body).toMatchObject(more)
    expect(status).toBeLessThanOrEqual(201)
  }

  async function publishAll(type: string, bodies: readonly Body[]): Promise<void> {
    for (let start = 0; start < bodies.length; start += 100) {
      const tasks = bodies.slice(start, start + 100).map(body => ({ type, input: {}, ...body }))
      const { status, body } = await system.call('POST', '/v1/tasks/batch', { tasks })
      expect([status, body.results.find((one: Given) => one.status > 201)]).toEqual([200, undefined])
    }
  }

  async function succeeded(
    type: string,
    prefix: string,
    count: number,
    limitMs = PATIENCE_MS,
  ): Promise<Given[]> {
    // The counts of a type cost 28 queries; the state of one task costs one read.
    for (const { key } of many(count, prefix)) {
      await system.taskWhen(`${type}:${key}`, ({ status }) => status === 'succeeded', limitMs)
    }
    return listed(type, 'succeeded', prefix)
  }

  async function listed(type: string, status: string, prefix: string): Promise<Given[]> {
    const items: Given[] = []
    let cursor: string | undefined
    do {
      const query = `type=${type}&status=${status}&limit=100${cursor ? `&cursor=${cursor}` : ''}`
      const { body } = await system.call('GET', `/v1/tasks?${query}`)
      items.push(...body.items)
      cursor = body.nextCursor
    } while (cursor)
    return items.filter(({ key }) => key.startsWith(prefix))
  }

  return { ...fleet, configure, publishAll, succeeded }
}

/** The bodies of tasks with the keys `<prefix>0`, `<prefix>1` … */
export function many(count: number, prefix: string, parts: (nth: number) => Body = () => ({})): Body[] {
  return Array.from({ length: count }, (_, nth) => ({ key: `${prefix}${nth}`, ...parts(nth) }))
}

type Span = { readonly from: number; readonly to: number }

/** The time of each run. */
export function spansOf(tasks: readonly Given[]): Span[] {
  return tasks
    .flatMap(({ runs }) => runs)
    .map(({ startedAt, endedAt }) => ({ from: Date.parse(startedAt), to: Date.parse(endedAt) }))
}

/** The largest number of runs at any moment. */
export function mostAtOnce(tasks: readonly Given[]): number {
  const spans = spansOf(tasks)
  return Math.max(...spans.map(({ from }) => spans.filter(one => one.from <= from && one.to > from).length))
}

export function byUser(tasks: readonly Given[], most: (some: readonly Given[]) => number): number[] {
  return [...Map.groupBy(tasks, ({ userId }) => userId).values()].map(most)
}

export function printMeasured(what: string, value: unknown): void {
  if (process.env.MEASURE) console.log(`measured: ${what}: ${JSON.stringify(value)}`)
}
