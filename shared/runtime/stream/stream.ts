import { EVERY_TYPE } from '../../core/bounds.ts'
import { type Head, isTask } from '../../core/task/head.ts'
import { needsAttention, type Task } from '../../core/task/task.ts'
import { countEnds } from '../canvas/count-ends.ts'
import type { PlanFailure } from '../kernel/heads.ts'
import { logFields } from '../kernel/log-run-ends.ts'
import { type PlanningSystem, processMemory } from '../kernel/system.ts'
import { isolateFaults, planTasks } from '../plan/plan.ts'

/**
 * The table's stream delivers each change of a head. This room does the work that must follow from it: it plans
 * the tasks (`plan/`) and counts ended members of canvases (`canvas/count-ends.ts`). `events.ts`, `statistics.ts` and the room
 * `limits/` read the same changes on their own.
 */

/** A head as one change left it, and the position of that change in the stream. */
export type TaskChange = { readonly task: Head; readonly position: string }

/** A process remembers this many planned changes: ten batches. */
const PLANNED_MAX = 1_000

/** The changes that this process has planned, by the queues that it sends to. */
const memoryOf = processMemory(() => ({ planned: new Set<string>() }))

/**
 * Plans each changed task, and counts the ended members of canvases; returns the positions of the changes that
 * Lambda must deliver again. Of several changes of one task only the newest is planned, since a plan follows from
 * the task alone. A change that no retry can plan is skipped, because one bad item must not block its shard.
 *
 * Lambda delivers everything from the first failed position on again. This process then skips the changes that it
 * has already planned. So one failing message does not resend the messages of a hundred other tasks.
 */
export async function planChanges(system: PlanningSystem, changes: readonly TaskChange[]): Promise<string[]> {
  const newest = new Map(changes.map(change => [change.task.id, change]))
  const memory = memoryOf(system.messages)
  const due = [...newest.values()].filter(change => !memory.planned.has(nameOf(change)))
  const heads = due.map(({ task }) => task)
  for (const { task } of changes) logNeedsAttention(system, task)
  const working = [planTasks, countEnds].map(work => isolateFaults(work, system, heads))
  const failures = (await Promise.all(working)).flat()
  for (const failure of failures) {
    if (failure.transient)
      system.log.warn('a task was not planned; Lambda delivers its change again', failure)
    else skip(system, newest.get(failure.id)?.task.type ?? EVERY_TYPE, failure)
  }
  const again = new Set(failures.filter(({ transient }) => transient).map(({ id }) => id))
  const done = due.filter(({ task }) => !again.has(task.id))
  memory.planned = new Set([...memory.planned, ...done.map(nameOf)].slice(-PLANNED_MAX))
  return [...again].flatMap(id => newest.get(id)?.position ?? [])
}

function skip({ metrics, log }: PlanningSystem, type: string, failure: PlanFailure): void {
  metrics.add('TaskFault', 1, type)
  log.error('a task cannot be planned; its change is skipped', failure)
}

/** A position alone does not identify a change, because each shard has its own positions. */
function nameOf({ task: { id, born, revision }, position }: TaskChange): string {
  return `${id} ${born} ${revision} ${position}`
}

/**
 * Logs a task that needs an operator: a flow halts when an undo has failed for good, and a refused callback
 * stays owed. The change that caused it is logged once.
 */
function logNeedsAttention({ log }: PlanningSystem, task: Head): void {
  if (!isTask(task) || !isInNeed(task) || task.operation === 'settle') return
  const what = task.unpublished
    ? 'a callback cannot be published: the task needs attention'
    : 'an undo has failed for good: the flow needs attention'
  log.warn(what, { ...logFields(task), error: task.error, problems: task.unpublished?.problems })
}

/** A flow whose steps cannot be read is reported by its planning. */
function isInNeed(task: Task): boolean {
  try {
    return needsAttention(task)
  } catch {
    return false
  }
}

/** A batch of the stream: the positions of all its records in order, and the positions of the records that Lambda must deliver again. */
export type Batch = { readonly positions: readonly string[]; readonly failed: readonly string[] }

/**
 * The changes of a batch that count now. Lambda delivers a batch again from its first failed record on, so only the records before
 * that one count, and the rest counts at a later delivery. A change counts once, unless the process dies before Lambda has its answer.
 */
export function countableChanges<Change extends { readonly position: string }>(
  changes: readonly Change[],
  { positions, failed }: Batch,
): Change[] {
  const first = positions.findIndex(position => failed.includes(position))
  const countable = new Set(first < 0 ? positions : positions.slice(0, first))
  return changes.filter(({ position }) => countable.has(position))
}
