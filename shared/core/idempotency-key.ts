import type { Task } from './task.ts'
import { pieceOf } from './work.ts'

/** Stable over the runs of one piece of work; a step's undo is another piece, and so is all after a restart. */
export function idempotencyKey(task: Task): string {
  const whole = `${task.id}/${task.born}`
  const piece = pieceOf(task)
  const round = task.flow?.round
  if (piece === undefined) return whole
  return round === undefined ? `${whole}/${piece}` : `${whole}/${piece}/${round}`
}
