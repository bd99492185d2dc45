import { claim } from '../../core/run/claim.ts'
import { statusReasonOf } from '../../core/status/status.ts'
import { isQuiet, isStuck, type WaitFacts } from '../../core/status/stuck.ts'
import { workOf } from '../../core/task/piece.ts'
import { isTargeted, liveRuns, type Task } from '../../core/task/task.ts'
import { servingType, type TaskType } from '../../core/types/task-type.ts'
import type { Worker } from '../../core/worker/worker.ts'
import { isolateEach } from '../kernel/isolate-faults.ts'
import type { System } from '../kernel/system.ts'
import { cachedAllowance } from '../limits/allows-start.ts'
import { readServed, type StatusReaders } from '../read/describe-task.ts'
import type { StateReader } from '../types/serving-states.ts'

/** One log line names at most this many ids. */
const IDS_LOGGED_MAX = 10

/** What a round of the sweeper knows after it has swept all types. */
export type SweptRound = {
  readonly types: readonly TaskType[]
  readonly stateOf: StateReader
  readonly tasks: readonly Task[]
  /** The time since which no round of the type has been missed. */
  sweptSince(type: string): number
}

/**
 * Counts and logs the stuck tasks among those that a round of the sweeper has read. It reads no tasks, and
 * reads the live workers only if a task shows no sign of life. The messages of a stuck task were sent again all
 * along, so it needs an operator.
 */
export async function reportStuck(system: System, round: SweptRound): Promise<void> {
  const now = system.clock.now()
  const quiet = (
    await isolateEach(system, round.tasks, 1, async task => (isQuiet(task, now) ? task : []))
  ).flat()
  if (quiet.length === 0) return
  try {
    const waitOf = waitReader(system, round)
    const judged = await isolateEach(system, quiet, quiet.length, async task =>
      isStuck(task, await waitOf(task), now) ? [task] : [],
    )
    for (const [type, tasks] of Map.groupBy(judged.flat(), task => task.type)) reportType(system, type, tasks)
  } catch (error) {
    system.log.error('the search for stuck tasks failed', { error })
  }
}

function reportType({ metrics, log }: System, type: string, tasks: readonly Task[]): void {
  metrics.add('Stuck', tasks.length, type)
  log.warn('tasks are stuck: nothing delays them, and no worker runs them', {
    type,
    tasks: tasks.length,
    ids: tasks.slice(0, IDS_LOGGED_MAX).map(({ id }) => id),
  })
}

function waitReader(system: System, round: SweptRound): (task: Task) => Promise<WaitFacts> {
  const { stateOf, sweptSince } = round
  const types = new Map(round.types.map(type => [type.type, type]))
  const workers = onlyOnce(() => system.workers.list())
  const readers: StatusReaders = {
    typeOf: async name => types.get(name),
    allowsStart: cachedAllowance(system),
    liveWorkers: workers,
  }
  const typesAtWork = new Set(
    round.tasks.filter(task => liveRuns(task).length > 0).map(task => workOf(task).type),
  )
  return async task => {
    const { type, kind } = workOf(task)
    const now = system.clock.now()
    const involved = [task.type, type].flatMap(name => types.get(name) ?? [])
    const served = await readServed(readers, task)
    const isOverHttp = kind === 'http' && !isTargeted(task)
    const isByWorkers = types.get(servingType(type, kind))?.servedBy === 'workers'
    const liveWorkers = isOverHttp || isByWorkers ? await workers() : []
    const fitting = liveWorkers.filter(worker => canClaim(worker, task, now))
    const { backlog = 0, handlerSince } = await stateOf(type, kind)
    return {
      reason: statusReasonOf(task, now, served),
      isPaused: involved.some(({ paused }) => paused),
      isInLine: isOverHttp ? typesAtWork.has(type) : backlog > 0,
      since: Math.max(
        sweptSince(task.type),
        handlerSince,
        ...involved.map(({ updatedAt }) => updatedAt),
        fitting.length > 0 ? Math.min(...fitting.map(({ startedAt }) => startedAt)) : 0,
      ),
    }
  }
}

function canClaim(worker: Worker, task: Task, now: number): boolean {
  const { type, kind } = workOf(task)
  return worker.types.includes(servingType(type, kind)) && claim(task, worker, now).ok
}

function onlyOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => {
    reading ??= read()
    return reading
  }
}
