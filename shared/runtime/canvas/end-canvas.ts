import type { Outcome } from '../../core/canvas/follow.ts'
import { endCanvas } from '../../core/canvas/transitions.ts'
import type { Task } from '../../core/task.ts'
import type { System } from '../system.ts'
import { transact } from '../transact.ts'
import type { Canvas } from './load-canvas.ts'
import { memberError } from './member-error.ts'

/** Ends a canvas, with the error of its first failed member. One that has ended stays as it is. */
export async function endCanvasBy(
  system: System,
  canvas: Canvas,
  head: Task,
  outcome: Outcome,
): Promise<void> {
  const why = outcome.end === 'failed' ? await memberError(system, canvas, outcome.failure) : undefined
  await transact(system, head, current =>
    current?.born === canvas.born
      ? endCanvas(current, { end: outcome.end, ...(why && { error: why.error }) }, system.clock.now())
      : { ok: false as const, reason: 'finished' as const },
  )
}
