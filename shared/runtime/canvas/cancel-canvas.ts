import { MAX_STARTED_AT_ONCE } from '../../core/limits.ts'
import { cancel } from '../../core/operate.ts'
import { isGone } from '../../core/publish.ts'
import type { Task } from '../../core/task.ts'
import type { Operated } from '../operate-task.ts'
import type { System } from '../system.ts'
import { transact } from '../transact.ts'
import { cancelMembers } from './cancel-members.ts'
import { loadCanvas } from './load-canvas.ts'

/** Longer than this nobody waits for an answer; the waker goes on. */
const MOST_MS = 15_000

/**
 * Cancels a canvas: nothing of it starts any more, its members are cancelled, here or, of a large one, by the waker.
 * Repeating it changes nothing.
 */
export async function cancelCanvas(system: System, id: string): Promise<Operated<'finished'>> {
  const { decision, task } = await transact(system, await system.tasks.head(id), current =>
    current?.canvas && !isGone(current, system.clock.now()) ? cancel(current, system.clock.now()) : UNKNOWN,
  )
  if (!task || (!decision.ok && decision.reason === 'unknown')) return UNKNOWN
  if (!decision.ok && decision.reason !== 'already-cancelled') return { ok: false, reason: 'finished', task }
  if (task.owes) await cancelNow(system, task)
  return { ok: true, task }
}

const UNKNOWN = { ok: false, reason: 'unknown' } as const

async function cancelNow(system: System, head: Task): Promise<void> {
  if ((head.canvas?.leaves ?? 0) > MAX_STARTED_AT_ONCE) return
  try {
    const canvas = await loadCanvas(system, { canvasId: head.key, born: head.born }, head)
    if (canvas) await cancelMembers(system, canvas, head, 0, system.clock.now() + MOST_MS)
  } catch (error) {
    system.log.warn('members of a cancelled canvas are left to the waker', { canvasId: head.id, error })
  }
}
