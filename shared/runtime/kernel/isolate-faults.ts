import { isItemFault } from '../../core/errors.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskStore } from '../../ports/stores.ts'
import { sideBySide } from './side-by-side.ts'
import type { System } from './system.ts'
import { logFields } from './traceparent.ts'

/**
 * One task's fault harms that task only. What concerns one task, such as a write that the store refuses for what stands in it,
 * is told and passed over; an outage concerns all, and ends the work.
 */

/**
 * Does `work` for each task, or for each item that is about one, at most `most` at a time. What a task's own fault kept from
 * being done is left out.
 */
export async function isolateEach<Item extends Task | { readonly task: Task }, Result>(
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

/** A person has to look at the task: all else goes on without it. */
export function logFault(
  { log, metrics }: Pick<System, 'log' | 'metrics'>,
  task: Pick<Task, 'id' | 'type' | 'traceparent'>,
  error: unknown,
): void {
  metrics.add('TaskFault', 1, task.type)
  log.error('a task is at fault and is passed over; cancel it, remove it, or change it', {
    ...logFields(task),
    error,
  })
}

/** A claim of a task that is known to be at fault is not tried again for so long by the same process. */
const FAULT_MEMORY_MS = 60_000
const FAULTS_KNOWN_MAX = 1_000

const memories = new WeakMap<TaskStore, Map<string, number>>()

/** Remembers, in this process, that nothing can be written of the task as it stands. */
export function rememberFault({ tasks, clock }: Pick<System, 'tasks' | 'clock'>, task: Task): void {
  const known = memories.get(tasks) ?? new Map<string, number>()
  if (known.size >= FAULTS_KNOWN_MAX) known.clear()
  known.set(nameOf(task), clock.monotonic() + FAULT_MEMORY_MS)
  memories.set(tasks, known)
}

/** Whether nothing could be written of the task, as it stands, a short while ago. A change of it is tried anew. */
export function isKnownFault({ tasks, clock }: Pick<System, 'tasks' | 'clock'>, task: Task): boolean {
  const until = memories.get(tasks)?.get(nameOf(task))
  return until !== undefined && clock.monotonic() < until
}

function nameOf({ id, born, revision }: Task): string {
  return `${id} ${born} ${revision}`
}

/**
 * Why one of several could not be published, where that is about it alone: it is refused, and the others go on.
 *
 * @throws the error itself otherwise: what became of the publish is not known.
 */
export function faultOf(error: unknown): string {
  if (!isItemFault(error)) throw error
  return error instanceof Error ? error.message : String(error)
}

/** What could not be planned, by task id; only what is `transient` is worth another try. */
export type PlanFailure = { readonly id: string; readonly reason: string; readonly transient: boolean }
