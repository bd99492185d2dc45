import { statusOf } from '../../../shared/core/status.ts'
import { LIFECYCLE, type Status } from '../../../shared/core/task/lifecycle.ts'
import type { SeenHead } from './seen-head.ts'

/**
 * Whether the system's own table of the lifecycle has the transition of a write. The diagram in `docs/lifecycle.md` shows that table, so
 * every transition must be in it.
 */
export function isInLifecycle(before: SeenHead | undefined, after: SeenHead): boolean {
  if (after.canvas || after.schedule) return true
  const now = after.updatedAt
  const [from, to] = [statusAt(before, now), statusAt(after, now)]
  return LIFECYCLE[after.operation].some(move => move.from.includes(from) && move.to.includes(to))
}

function statusAt(head: SeenHead | undefined, now: number): Status | 'none' {
  return head === undefined || head.state === 'removed' ? 'none' : statusOf(head, now)
}
