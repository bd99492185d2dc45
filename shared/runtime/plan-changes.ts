import { needsAttention } from '../core/flow/describe-steps.ts'
import type { Task } from '../core/task.ts'
import { countEnds } from './canvas/count-ends.ts'
import { logFields } from './log-fields.ts'
import { planTasks } from './plan-tasks.ts'
import type { PlanningSystem } from './system.ts'

/** A task as one change of the stream left it, and where in the stream that change stands. */
type TaskChange = { readonly task: Task; readonly position: string }

/**
 * Plans each task that changed, and counts those that have ended in their canvases; answers the positions of the changes
 * that must come again. Of several changes of one task only the newest is planned, since a plan follows from the task
 * alone. What is refused for what it is does not come again: one bad item must not block its shard.
 */
export async function planChanges(system: PlanningSystem, changes: readonly TaskChange[]): Promise<string[]> {
  const newest = new Map(changes.map(change => [change.task.id, change]))
  const tasks = [...newest.values()].map(({ task }) => task)
  for (const { task } of changes) tellOfTrouble(system, task)
  const failures = (await Promise.all([planTasks(system, tasks), countEnds(system, tasks)])).flat()
  for (const failure of failures) {
    if (failure.transient) system.log.warn('not planned yet', failure)
    else system.log.error('not planned: its message is refused', failure)
  }
  return failures.filter(({ transient }) => transient).flatMap(({ id }) => newest.get(id)?.position ?? [])
}

/** An undo that fails for good halts its flow until a person decides. The change that ended it is told once. */
function tellOfTrouble({ metrics, log }: PlanningSystem, task: Task): void {
  if (!needsAttention(task) || task.operation === 'settle') return
  log.warn('an undo has failed for good: the flow needs attention', {
    ...logFields(task),
    error: task.error,
  })
  metrics.add('NeedsAttention', 1, task.type)
}
