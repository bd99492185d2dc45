import { endedRuns } from '../../../../shared/core/task/task.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Write } from '../invariant.ts'
import { hasOwnRetries, opensPiece } from '../pieces.ts'

/**
 * What a task that is not due waits for: a retry after a failed or lost run, or the time that a caller or a handler has set. `unknown`
 * where each worker waits for a retry of its own, because the first of these times may be any of them.
 */
export type DelayCause = 'retry' | 'set' | 'unknown'

const causes = new WeakMap<SeenHead, DelayCause>()

export function delayCauseOf(head: SeenHead): DelayCause {
  return causes.get(head) ?? 'unknown'
}

/** Follows the writes of tasks, and notes what each head waits for. */
export function noteDelayCause(write: Write): void {
  causes.set(write.after, causeAfter(write))
}

function causeAfter({ before, after }: Write): DelayCause {
  if (hasOwnRetries(after, '')) return 'unknown'
  if (!before || opensPiece(before, after)) return 'set'
  // A loss adds no delay: the task continues waiting for what it waited for, such as a time that a caller has set.
  if (before.dueAt === after.dueAt) return delayCauseOf(before)
  return hasFailed(before, after) ? 'retry' : 'set'
}

/** Whether the write ended a run as failed or lost, after which the task waits for its retry. */
function hasFailed(before: SeenHead, after: SeenHead): boolean {
  return endedRuns(after).some(
    ({ fence, state, past }) => (state === 'failed' || state === 'lost') && !past && !before.ended[fence],
  )
}
