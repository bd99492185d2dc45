import { isItemFault, isOutage, messageOf } from '../../core/errors.ts'
import type { Head } from '../../core/task/head.ts'
import type { Task } from '../../core/task/task.ts'
import { sideBySide } from './side-by-side.ts'
import type { System } from './system.ts'
import { processMemory } from './timed-cache.ts'
import { logFields } from './traceparent.ts'

/**
 * A fault of one task must not stop the work on other tasks. A fault concerns one task only: for example, the store refuses
 * a write because of its content. The fault is logged, and the task is skipped. An outage concerns all tasks and ends the
 * work.
 */

/**
 * Does `work` for each task, or for each item that names its task, at most `most` at a time. Returns the results; an item
 * with a fault of its own is logged and has no result.
 *
 * @throws the error of an outage.
 */
export async function isolateEach<Item extends Head | { readonly task: Head }, Result>(
  system: Pick<System, 'log' | 'metrics'>,
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = await sideBySide(items, most, async item => {
    try {
      return [await work(item)]
    } catch (error) {
      if (!isItemFault(error)) throw error
      logFault(system, 'task' in item ? item.task : item, error)
      return []
    }
  })
  return results.flat()
}

/** Logs and counts a task's fault. An operator has to look at the task; the work on other tasks goes on. */
export function logFault(
  { log, metrics }: Pick<System, 'log' | 'metrics'>,
  task: Pick<Task, 'id' | 'type' | 'traceparent'>,
  error: unknown,
): void {
  metrics.add('TaskFault', 1, task.type)
  log.error('a task is at fault and is skipped; cancel it, remove it, or change it', {
    ...logFields(task),
    error,
  })
}

/** For this long, the process that met a task's fault does not try to claim the task again. */
const FAULT_MEMORY_MS = 60_000
const FAULTS_KNOWN_MAX = 1_000

/** The tasks with known faults, each with the monotonic time until which it is remembered. */
const knownFaults = processMemory(() => new Map<string, number>())

/** Remembers in this process that the task, at its present revision, cannot be written. */
export function rememberFault({ tasks, clock }: Pick<System, 'tasks' | 'clock'>, task: Task): void {
  const known = knownFaults(tasks)
  if (known.size >= FAULTS_KNOWN_MAX) known.clear()
  known.set(nameOf(task), clock.monotonic() + FAULT_MEMORY_MS)
}

/** Whether this process lately failed to write the task at its present revision. A changed task is tried again. */
export function isKnownFault({ tasks, clock }: Pick<System, 'tasks' | 'clock'>, task: Task): boolean {
  const until = knownFaults(tasks).get(nameOf(task))
  return until !== undefined && clock.monotonic() < until
}

function nameOf({ id, born, revision }: Task): string {
  return `${id} ${born} ${revision}`
}

/**
 * Why one task of a batch could not be published. That task is refused, and the others are published.
 *
 * @throws the error itself when it does not concern one task only: then the outcome of the publish is not known.
 */
export function faultOf(error: unknown): string {
  if (!isItemFault(error)) throw error
  return messageOf(error)
}

/** A task that could not be planned, by task id, and why. Only a `transient` failure is worth another try. */
export type PlanFailure = { readonly id: string; readonly reason: string; readonly transient: boolean }

/**
 * The failure of one task, by the error that ended its work. By default only an outage is worth another try: an
 * error that repeats at each try would block a shard of the stream. Looks and markers are also worth another try
 * after an unknown error, since only the fault of an item is certain to repeat.
 */
export function failureOf(id: string, error: unknown, transient = isOutage(error)): PlanFailure {
  return { id, reason: String(error), transient }
}
