import { runningPlace, undoingPlace } from '../../core/place/place-names.ts'
import { liveRuns } from '../../core/task/task.ts'
import { servingType, shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { Worker } from '../../core/worker/worker.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { createTimedCache } from '../kernel/timed-cache.ts'

/** A worker that is there. Those of Lambda come and go with each invocation and are one per type. */
export type PresentWorker = {
  readonly id: string
  readonly kind: Worker['kind'] | 'lambda'
  readonly version?: string
  readonly types: readonly string[]
  readonly running: number
  /** Unknown of Lambda, which is there whenever it is needed. */
  readonly lastSeen?: number
}

/** Running tasks read per type and shard to tell whose they are. */
const MOST_RUNS = 200
const MOST_AT_ONCE = 10

/**
 * The live workers by id. Standalone ones say how many tasks they run; of those over HTTP and of Lambda that is counted
 * in the running places of their types, so it is late by up to two seconds, and no write is needed for it.
 */
export async function listWorkers(system: System): Promise<PresentWorker[]> {
  const [announced, types] = await Promise.all([system.workers.list(), system.types.list()])
  const held = await heldOverHttp(system, announced, types)
  const lambdas = await sideBySide(types.filter(isServedByLambda), MOST_AT_ONCE, type =>
    lambdaOf(system, type, types),
  )
  const workers = announced.map(({ workerId: id, kind, version, types, running, lastSeen }) => ({
    id,
    kind,
    ...(version !== undefined && { version }),
    types,
    running: running ?? held.get(id) ?? 0,
    lastSeen,
  }))
  return [...workers, ...lambdas].sort((a, b) => (a.id < b.id ? -1 : 1))
}

function isServedByLambda({ handlerSince, servedBy }: TaskType): boolean {
  return handlerSince !== undefined && servedBy === undefined
}

async function lambdaOf(
  system: System,
  { type, handlerVersion: version }: TaskType,
  types: readonly TaskType[],
): Promise<PresentWorker> {
  const served = types.filter(one => servingType(one.type, one.configuration.kind) === type)
  const counts = await sideBySide(served.flatMap(runningRanges), MOST_AT_ONCE, range =>
    system.tasks.count(range),
  )
  const running = counts.reduce((total, count) => total + count, 0)
  return {
    id: `lambda:${type}`,
    kind: 'lambda',
    ...(version !== undefined && { version }),
    types: served.map(one => one.type).sort(),
    running,
  }
}

/** How many runs each worker holds among the running tasks of the types claimed over HTTP. */
async function heldOverHttp(
  system: System,
  announced: readonly Worker[],
  types: readonly TaskType[],
): Promise<ReadonlyMap<string, number>> {
  const claimed = new Set(announced.flatMap(({ kind, types }) => (kind === 'http' ? types : [])))
  // Steps that are claimed over HTTP run under the types of their flows.
  const ranges = types
    .filter(({ type, configuration: { kind } }) => claimed.has(type) || kind === 'flow')
    .flatMap(runningRanges)
  const held = new Map<string, number>()
  await sideBySide(ranges, MOST_AT_ONCE, async range => {
    const { entries } = await system.tasks.page({ ...range, limit: MOST_RUNS })
    const tasks = await system.tasks.heads(entries.map(({ id }) => id))
    for (const { workerId } of tasks.flatMap(liveRuns)) held.set(workerId, (held.get(workerId) ?? 0) + 1)
  })
  return held
}

function runningRanges(type: TaskType) {
  const places = type.configuration.kind === 'flow' ? [runningPlace, undoingPlace] : [runningPlace]
  return shardNumbers(type).flatMap(shard =>
    places.map(place => ({ index: 'place' as const, partition: place(type.type, shard) })),
  )
}

const LIFETIME_MS = 1_000

/** Reads which workers show signs of life through a memory of one second, for those who ask once per task. */
export function cachedLiveWorkers({
  workers,
  clock,
}: Pick<System, 'workers' | 'clock'>): () => Promise<readonly Worker[]> {
  const cache = createTimedCache<readonly Worker[]>(LIFETIME_MS)
  return async () => (await cache.get(clock, 'all', () => workers.list())).value
}
