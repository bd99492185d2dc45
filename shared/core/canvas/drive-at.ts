import { MAX_STARTED_AT_ONCE } from '../limits.ts'
import type { Task } from '../task.ts'

/** Who publishes or cancels a small canvas begins with its members at once, and has so long for it. */
const BEGINNER_MS = 20_000

/**
 * When the jobs function is to see to a canvas as it stands: when its first members may not have been published, or not all of
 * a cancelled one's have been cancelled. A large one is the jobs function's from the start. Undefined: nothing is owed.
 */
export function driveAt({ canvas, state, owes, updatedAt }: Task, now: number): number | undefined {
  if (!canvas) return undefined
  const isOwed = (state === 'open' && !canvas.started) || owes
  if (!isOwed) return undefined
  return canvas.leaves > MAX_STARTED_AT_ONCE ? now : updatedAt + BEGINNER_MS
}
