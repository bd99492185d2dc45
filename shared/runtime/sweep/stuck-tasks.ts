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

/** Ids in one log line. */
const MOST_NAMED = 10

/** What a round of the sweeper knows when all types have been swept. */
export type SweptRound = {
  readonly types: readonly TaskType[]
  readonly stateOf: StateReader
  readonly tasks: readonly Task[]
  /** Since when no round of a type has been missed. */
  sweptSince(type: string): number
}

/**
 * Counts and names the tasks that are stuck among those that a round of the sweeper has seen; it reads no tasks, and the
 * live workers only if a task is quiet. Their messages have been sent again all along: what is told here needs a person.
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
    for (const [type, tasks] of Map.groupBy(judged.flat(), task => task.type)) tell(system, type, tasks)
  } catch (error) {
    system.log.error('stuck tasks were not looked for', { error })
  }
}

function tell({ metrics, log }: System, type: string, tasks: readonly Task[]): void {
  metrics.add('Stuck', tasks.length, type)
  log.warn('tasks are stuck: nothing keeps them, and nobody works on them', {
    type,
    tasks: tasks.length,
    ids: tasks.slice(0, MOST_NAMED).map(({ id }) => id),
  })
}

function waitReader(system: System, round: SweptRound): (task: Task) => Promise<WaitFacts> {
  const { stateOf, sweptSince } = round
  const types = new Map(round.types.map(type => [type.type, type]))
  const workers = onlyOnce(() => system.workers.list())
  const surroundings: StatusReaders = {
    typeOf: async name => types.get(name),
    allowsStart: cachedAllowance(system),
    liveWorkers: workers,
  }
  const worked = new Set(round.tasks.filter(task => liveRuns(task).length > 0).map(task => workOf(task).type))
  return async task => {
    const { type, kind } = workOf(task)
    const now = system.clock.now()
    const concerned = [task.type, type].flatMap(name => types.get(name) ?? [])
    const served = await readServed(surroundings, task)
    const isOverHttp = kind === 'http' && !isTargeted(task)
    const isByWorkers = types.get(servingType(type, kind))?.servedBy === 'workers'
    const able = isOverHttp || isByWorkers ? await workers() : []
    const fit = able.filter(worker => isFit(worker, task, now))
    const { backlog = 0, handlerSince } = await stateOf(type, kind)
    return {
      reason: statusReasonOf(task, now, served),
      isPaused: concerned.some(({ paused }) => paused),
      isInLine: isOverHttp ? worked.has(type) : backlog > 0,
      since: Math.max(
        sweptSince(task.type),
        handlerSince,
        ...concerned.map(({ updatedAt }) => updatedAt),
        fit.length > 0 ? Math.min(...fit.map(({ startedAt }) => startedAt)) : 0,
      ),
    }
  }
}

function isFit(worker: Worker, task: Task, now: number): boolean {
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
