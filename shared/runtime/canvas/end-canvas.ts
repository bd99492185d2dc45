import { endCanvas } from '../../core/canvas/canvas.ts'
import type { Outcome } from '../../core/canvas/follow.ts'
import type { Task, TaskError } from '../../core/task/task.ts'
import { fullError } from '../kernel/full-error.ts'
import { transact } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { type Canvas, memberId } from './canvas.ts'

/** Ends a canvas, with the error of its first failed member. One that has ended stays as it is. */
export async function recordCanvasEnd(
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

/** Why a member counts as failed. */
export async function memberError(
  system: Pick<System, 'tasks'>,
  canvas: Canvas,
  leaf: number,
): Promise<{ readonly error: TaskError; readonly taskId: string }> {
  const taskId = memberId(canvas, leaf)
  const task = await system.tasks.head(taskId)
  const told = task && impliedError(task)
  return { taskId, error: task?.error && !told ? await fullError(system, task) : (told ?? gone(taskId)) }
}

/** Of a member that no run failed of: a reason in words; undefined when the task tells one itself. */
export function impliedError({ id, state, error, member }: Task): TaskError | undefined {
  if (state === 'removed') return { name: 'Removed', message: `${id} was removed` }
  if (state === 'cancelled') return { name: 'Cancelled', message: `${id} was cancelled` }
  if (error) return undefined
  return member?.first === 'failed'
    ? { name: 'StartedOver', message: `${id} had failed or was stopped before it was started over` }
    : undefined
}

function gone(taskId: string): TaskError {
  return { name: 'NotPublished', message: `${taskId} could not be published` }
}
