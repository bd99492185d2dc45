import { claim } from '../../core/run/claim.ts'
import { isQuiet, isStuck, statusReasonOf, type WaitFacts } from '../../core/status/status.ts'
import { workOf } from '../../core/task/piece.ts'
import { isTargeted, liveRuns, type Task } from '../../core/task/task.ts'
import { servingType } from '../../core/types/task-type.ts'
import { groupBy } from '../../core/values/records.ts'
import type { Worker } from '../../core/worker/worker.ts'
import { isolateEach } from '../kernel/isolate-faults.ts'
import type { System } from '../kernel/system.ts'
import { cachedLimitReader } from '../limits/limit-usage.ts'
import { readServed, type StatusReaders } from '../read/describe-task.ts'
import type { SweepRound } from './sweep-round.ts'

/** One log line names at most this many ids. */
const IDS_LOGGED_MAX = 10

/** The tasks on which the report of stuck tasks depends: those without a sign of life, and one that runs of each type. */
export async function withoutSignOfLife(system: System, tasks: readonly Task[]): Promise<Task[]> {
  const now = system.clock.now()
  const runs = new Map<string, Task>()
  const quiet = await isolateEach(system, tasks, 1, async task => {
    if (liveRuns(task).length > 0) runs.set(workOf(task).type, task)
    return isQuiet(task, now) ? task : []
  })
  return [...new Set([...quiet.flat(), ...runs.values()])]
}

/**
 * Counts and logs the stuck tasks among those that a round of the sweeper has read. It reads no tasks, and
 * reads the live workers only if a task shows no sign of life. The sweeper has sent the messages of a stuck
 * task again and again without effect, so the task needs an operator.
 */
export async function reportStuck(round: SweepRound, tasks: readonly Task[]): Promise<void> {
  const { system } = round
  const now = system.clock.now()
  const quiet = (await isolateEach(system, tasks, 1, async task => (isQuiet(task, now) ? task : []))).flat()
  if (quiet.length === 0) return
  try {
    const waitOf = waitReader(round, tasks)
    const judged = await isolateEach(system, quiet, quiet.length, async task =>
      isStuck(task, await waitOf(task), now) ? [task] : [],
    )
    for (const [type, stuck] of groupBy(judged.flat(), task => task.type)) reportType(system, type, stuck)
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

function waitReader(round: SweepRound, tasks: readonly Task[]): (task: Task) => Promise<WaitFacts> {
  const { system, stateOf, memory } = round
  const types = new Map(round.types.map(type => [type.type, type]))
  const workers = onlyOnce(() => system.workers.list())
  const readers: StatusReaders = {
    typeOf: async name => types.get(name),
    limitHolding: cachedLimitReader(system),
    liveWorkers: workers,
  }
  const typesAtWork = new Set(tasks.filter(task => liveRuns(task).length > 0).map(task => workOf(task).type))
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
      isBehindOthers: isOverHttp ? typesAtWork.has(type) : backlog > 0,
      since: Math.max(
        memory.rounds?.get(task.type)?.since ?? 0,
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
