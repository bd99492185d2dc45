import type { Decision } from '../../core/change/change.ts'
import { endWait, type WaitRefusal } from '../../core/limits/wait.ts'
import { isSamePiece } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { applyChange } from '../kernel/apply-change.ts'
import { type Patience, transact } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'

/** The wait of a task for a slot or a permit, as its head records it: how claims write it, and how other processes end it. */

/** Writes to the task what it waits for. A task that has moved on meanwhile is left as it is. */
export async function writeWait(
  system: System,
  seen: Task,
  decide: (current: Task) => Decision<WaitRefusal>,
  patience?: Patience,
): Promise<void> {
  const decideOnPiece = (current: Task | undefined): Decision<WaitRefusal> =>
    current && isSamePiece(seen, current) ? decide(current) : { ok: false, reason: 'finished' }
  await transact(system, seen, decideOnPiece, patience)
}

/** Ends the wait of the task that the caller has seen. False when the task has changed since: one process ends each wait. */
export async function endWaitOf(system: System, task: Task): Promise<boolean> {
  const ended = endWait(task, system.clock.now())
  return ended.ok && (await applyChange(system, ended.change)).applied
}
