/**
 * The table's stream brings each change of a head. This room does what must follow from it: it plans the tasks and
 * counts ended members of canvases. Events and limits are told of the same changes by their own rooms.
 */
import { needsAttention } from '../../core/flow/describe-steps.ts'
import type { Task } from '../../core/task/task.ts'
import type { Messages } from '../../ports/messages.ts'
import { countEnds } from '../canvas/count-ends.ts'
import type { PlanningSystem } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import { isolateFaults, planTasks } from '../plan/plan.ts'

/** A task as one change of the stream left it, and where in the stream that change stands. */
type TaskChange = { readonly task: Task; readonly position: string }

/** Changes that a process remembers to have planned: ten batches. */
const PLANNED_MAX = 1_000

/** What each process has planned, by its way to the queues. */
const memories = new WeakMap<Messages, Set<string>>()

/**
 * Plans each task that changed, and counts those that have ended in their canvases; answers the positions of the changes
 * that must come again. Of several changes of one task only the newest is planned, since a plan follows from the task
 * alone. What is refused for what it is does not come again: one bad item must not block its shard.
 *
 * Lambda delivers everything from the first failed position on again. A change that this process has planned needs
 * nothing then, so that one failing message does not send those of a hundred other tasks again.
 */
export async function planChanges(system: PlanningSystem, changes: readonly TaskChange[]): Promise<string[]> {
  const newest = new Map(changes.map(change => [change.task.id, change]))
  const known = memories.get(system.messages) ?? new Set<string>()
  const due = [...newest.values()].filter(change => !known.has(nameOf(change)))
  const tasks = due.map(({ task }) => task)
  for (const { task } of changes) tellOfTrouble(system, task)
  const working = [planTasks, countEnds].map(work => isolateFaults(work, system, tasks))
  const failures = (await Promise.all(working)).flat()
  for (const failure of failures) {
    if (failure.transient) system.log.warn('not planned yet', failure)
    else system.log.error('not planned: its message is refused', failure)
  }
  const again = new Set(failures.filter(({ transient }) => transient).map(({ id }) => id))
  remember(
    system.messages,
    due.filter(({ task }) => !again.has(task.id)),
  )
  return [...again].flatMap(id => newest.get(id)?.position ?? [])
}

function remember(messages: Messages, done: readonly TaskChange[]): void {
  const known = [...(memories.get(messages) ?? []), ...done.map(nameOf)]
  memories.set(messages, new Set(known.slice(-PLANNED_MAX)))
}

/** Positions alone do not name a change: each shard has its own. */
function nameOf({ task: { id, born, revision }, position }: TaskChange): string {
  return `${id} ${born} ${revision} ${position}`
}

/**
 * An undo that fails for good halts its flow, and a callback that cannot be published stays owed, until a person decides.
 * The change that brought that about is told once.
 */
function tellOfTrouble({ log }: PlanningSystem, task: Task): void {
  if (!needsAttention(task) || task.operation === 'settle') return
  const what = task.unpublished
    ? 'a callback cannot be published: the task needs attention'
    : 'an undo has failed for good: the flow needs attention'
  log.warn(what, { ...logFields(task), error: task.error, problems: task.unpublished?.problems })
}
