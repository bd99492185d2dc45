import { isOutage } from '../core/errors.ts'
import type { Task } from '../core/task.ts'
import type { PlanFailure } from './plan-tasks.ts'
import { sideBySide } from './side-by-side.ts'
import type { PlanningSystem } from './system.ts'

type Work = (system: PlanningSystem, tasks: readonly Task[]) => Promise<PlanFailure[]>

const APART_AT_ONCE = 10

/**
 * Does the work for all tasks together. Where that throws, one of them may be at odds with what the code expects of a head:
 * each is then worked on by itself, so that only that one is let go. An outage concerns all, and the batch comes again.
 */
export async function apartIfNeeded(
  work: Work,
  system: PlanningSystem,
  tasks: readonly Task[],
): Promise<PlanFailure[]> {
  try {
    return await work(system, tasks)
  } catch (error) {
    if (isOutage(error)) throw error
    const [only, ...others] = tasks
    if (only && others.length === 0) return [{ id: only.id, reason: String(error), transient: false }]
    const each = await sideBySide(tasks, APART_AT_ONCE, task => apartIfNeeded(work, system, [task]))
    return each.flat()
  }
}
