/**
 * This room knows which workers are present. Standalone workers register themselves, the requests of HTTP workers
 * register them (`announce-http-workers.ts`), and Lambda workers are counted by their runs.
 *
 * This file lists workers, drops silent ones, and writes the markers by which a listed worker finds its tasks.
 */

import { runningPlace, undoingPlace } from '../../core/place/place.ts'
import { liveRuns, type Task } from '../../core/task/task.ts'
import { servingType, shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import { defined, isItemFault } from '../../core/values/values.ts'
import { type Planned, planned } from '../../core/wake.ts'
import type { Marker, Worker, WorkerState } from '../../core/worker.ts'
import { WORKER_DROP_MS, workerStateOf } from '../../core/worker.ts'
import type { Chance } from '../../ports/machine.ts'
import { failureOf, type PlanFailure, readEntries, sideBySide } from '../kernel/heads.ts'
import { createTimedCache, type System } from '../kernel/system.ts'
import { placeRanges } from '../place/ready.ts'
import { NOTHING_SWEPT, type SweepReport } from '../repair.ts'

/**
 * A worker that is present, or that was within the last day. Lambda workers come and go with each invocation, so they are shown as one
 * per type.
 */
export type KnownWorker = Pick<Worker, 'version' | 'types' | 'tasks' | 'stoppedAt'> & {
  readonly id: string
  readonly kind: Worker['kind'] | 'lambda'
  readonly state: WorkerState
  readonly running: number
  /** Missing for Lambda, which is there whenever it is needed. */
  readonly lastSeen?: number
}

/** Running tasks read per type and shard to count each worker's runs. */
const RUNS_READ_MAX = 200
const READS_AT_ONCE_MAX = 10

/**
 * The workers of the last day, sorted by id. Standalone workers report how many tasks they run. For HTTP and Lambda workers the number is
 * counted in the running places of their types, so it lags by up to two seconds and costs no write.
 */
export async function listWorkers(system: System): Promise<KnownWorker[]> {
  const [announced, types] = await Promise.all([system.workers.listAll(), system.types.list()])
  const held = await heldOverHttp(system, announced, types)
  const lambdas = await sideBySide(types.filter(isServedByLambda), READS_AT_ONCE_MAX, type =>
    lambdaOf(system, type, types),
  )
  const now = system.clock.now()
  const workers = announced.map(worker => {
    const { workerId: id, kind, version, types, tasks, running, lastSeen, stoppedAt } = worker
    return {
      ...{ id, kind, state: workerStateOf(worker, now), types },
      ...defined({ version, tasks, stoppedAt }),
      ...{ running: running ?? held.get(id) ?? 0, lastSeen },
    }
  })
  return [...workers, ...lambdas].sort((a, b) => (a.id < b.id ? -1 : 1))
}

function isServedByLambda({ handlerSince, servedBy }: TaskType): boolean {
  return handlerSince !== undefined && servedBy === undefined
}

async function lambdaOf(
  system: System,
  { type, handlerVersion: version }: TaskType,
  types: readonly TaskType[],
): Promise<KnownWorker> {
  const served = types.filter(one => servingType(one.type, one.configuration.kind) === type)
  const counts = await sideBySide(served.flatMap(runningRanges), READS_AT_ONCE_MAX, range =>
    system.tasks.count(range),
  )
  const running = counts.reduce((total, count) => total + count, 0)
  return {
    id: `lambda:${type}`,
    kind: 'lambda',
    state: 'live',
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
  await sideBySide(ranges, READS_AT_ONCE_MAX, async range => {
    const { entries } = await system.tasks.page({ ...range, limit: RUNS_READ_MAX })
    const tasks = await readEntries(system, entries)
    for (const { workerId } of tasks.flatMap(liveRuns)) held.set(workerId, (held.get(workerId) ?? 0) + 1)
  })
  return held
}

function runningRanges(type: TaskType) {
  const places = type.configuration.kind === 'flow' ? [runningPlace, undoingPlace] : [runningPlace]
  return placeRanges(shardNumbers(type).flatMap(shard => places.map(place => place(type.type, shard))))
}

const CACHE_MS = 1_000

/** Reads the live workers through a cache of one second, for callers that ask once per task. */
export function cachedLiveWorkers({
  workers,
  clock,
}: Pick<System, 'workers' | 'clock'>): () => Promise<readonly Worker[]> {
  const cache = createTimedCache<readonly Worker[]>(CACHE_MS)
  return async () => (await cache.get(clock, 'all', () => workers.list())).value
}

/** One round takes out at most this many workers; the next round takes out more. */
const DROPPED_WORKERS_MAX = 200

/**
 * Takes workers out of the registry that died without leaving. Otherwise DynamoDB would expire their items days
 * later, and their leaving would be reported only then.
 */
export async function sweepWorkers({
  workers,
  clock,
  log,
}: Pick<System, 'workers' | 'clock' | 'log'>): Promise<SweepReport> {
  const dropped = await workers.dropSilent(clock.now() - WORKER_DROP_MS, DROPPED_WORKERS_MAX)
  if (dropped.length > 0) log.info('took silent workers out of the registry', { workers: dropped })
  return { ...NOTHING_SWEPT, repaired: dropped.length }
}

/**
 * A targeted task lists `workerIds`. It is never sent to its type's queue, where most receivers would refuse it, nor put into the ready
 * place of an HTTP type, where other workers would read past it. When it is due, each worker that may still take it gets a marker in a
 * partition of its own. A worker with free capacity reads its markers about once a second.
 */

const WRITES_AT_ONCE_MAX = 25
/** One call checks at most this many markers: twenty requests, half a read unit per marker. */
const CHECKED_MARKERS_MAX = 2_000

/** Writes the markers that the plans ask for, one per task and worker. Returns the tasks that could not be marked. */
export async function markTargets(
  system: Pick<System, 'targets'>,
  all: readonly Planned<Task>[],
): Promise<PlanFailure[]> {
  const failures = await sideBySide(all.flatMap(markersOf), WRITES_AT_ONCE_MAX, async marker => {
    try {
      await system.targets.mark(marker)
      return []
    } catch (error) {
      return [failureOf(marker.taskId, error, !isItemFault(error))]
    }
  })
  return failures.flat()
}

function markersOf({ head, plan }: Planned<Task>): Marker[] {
  const { id: taskId, born, revision } = head
  return (plan.markFor ?? []).map(workerId => ({ workerId, taskId, born, revision }))
}

/**
 * The tasks that lack a marker they should have, because the planner's or the waker's work got lost. Of more
 * than 2,000 markers it checks 2,000 from a random one on, so that over the rounds all are checked.
 */
export async function tasksWithoutMarkers(system: System, tasks: readonly Task[]): Promise<Task[]> {
  const now = system.clock.now()
  const markers = tasks.flatMap(task => markersOf(planned(task, now)))
  const expected = sampleOf(markers, system.chance)
  const stored = await system.targets.among(expected)
  const births = new Map(stored.map(marker => [nameOf(marker), marker.born]))
  const missing = expected.filter(marker => births.get(nameOf(marker)) !== marker.born)
  const ids = new Set(missing.map(({ taskId }) => taskId))
  return tasks.filter(({ id }) => ids.has(id))
}

function sampleOf(markers: readonly Marker[], { fraction }: Chance): readonly Marker[] {
  if (markers.length <= CHECKED_MARKERS_MAX) return markers
  const start = Math.floor(markers.length * fraction())
  return [...markers.slice(start), ...markers.slice(0, start)].slice(0, CHECKED_MARKERS_MAX)
}

function nameOf({ workerId, taskId }: Marker): string {
  return JSON.stringify([workerId, taskId])
}
