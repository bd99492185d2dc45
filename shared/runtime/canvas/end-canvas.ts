import { endCanvas } from '../../core/canvas/canvas.ts'
import type { Outcome } from '../../core/canvas/standing.ts'
import type { Canvas } from '../../core/task/head-fields.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'
import { fullError } from '../kernel/full-error.ts'
import { ofSameBirth, transact } from '../kernel/kernel.ts'
import { readTask } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'
import { type LoadedCanvas, memberId } from './canvas.ts'

/** Ends a canvas, with the error of its first failed member. A canvas that has ended stays as it is. */
export async function recordCanvasEnd(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  outcome: Outcome,
): Promise<void> {
  const why = outcome.end === 'failed' ? await memberError(system, canvas, outcome.failure) : undefined
  await transact(
    system,
    head,
    ofSameBirth(canvas, current =>
      endCanvas(current, { end: outcome.end, ...(why && { error: why.error }) }, system.clock.now()),
    ),
  )
}

/** The error for which a member counts as failed. */
export async function memberError(
  system: Pick<System, 'tasks'>,
  canvas: LoadedCanvas,
  leaf: number,
): Promise<{ readonly error: TaskError; readonly taskId: string }> {
  const taskId = memberId(canvas, leaf)
  const task = await readTask(system, taskId)
  const implied = task && impliedError(task)
  return {
    taskId,
    error: task?.error && !implied ? await fullError(system, task) : (implied ?? notPublished(taskId)),
  }
}

/**
 * The error that follows from a member's state when no run failed: removed, cancelled, or started over.
 * Undefined when the task has an error of its own.
 */
export function impliedError({ id, state, error, member }: Task): TaskError | undefined {
  if (state === 'removed') return { name: 'Removed', message: `${id} was removed` }
  if (state === 'cancelled') return { name: 'Cancelled', message: `${id} was cancelled` }
  if (error) return undefined
  return member?.first === 'failed'
    ? { name: 'StartedOver', message: `${id} had failed or was stopped before it was started over` }
    : undefined
}

function notPublished(taskId: string): TaskError {
  return { name: 'NotPublished', message: `${taskId} could not be published` }
}
