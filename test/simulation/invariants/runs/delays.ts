import type { Retry } from '../../../../shared/core/options.ts'
import { liveRuns } from '../../../../shared/core/task/task.ts'
import type { HistoryEvent } from '../../world/history.ts'
import { type Invariant, onEachWrite, type Write } from '../invariant.ts'
import { opensPiece, retryTimeOf } from '../pieces.ts'

/** Promises about deadlines, and about the time between a failure and its retry. */
export const DELAY_INVARIANTS: readonly Invariant[] = [
  onEachWrite('a run that fails or is released after the deadline ends its task or step at once', write => {
    const { before, after } = write
    const isEnd = after.operation === 'fail' || after.operation === 'release'
    if (!isEnd || after.state !== 'open' || opensPiece(before, after)) return undefined
    const lateMs = after.updatedAt - (after.deadlineAt ?? Number.POSITIVE_INFINITY)
    return lateMs >= 0
      ? `${after.operation} left ${after.id} open ${lateMs} ms after its deadline`
      : undefined
  }),
  onEachWrite('no run begins after the deadline of its task or step', ({ before, after }) => {
    if (after.operation !== 'claim') return undefined
    const starts = liveRuns(after)
      .filter(({ fence }) => !before?.live[fence])
      .map(({ startedAt }) => startedAt)
    const lateMs = Math.max(after.updatedAt, ...starts) - (before?.deadlineAt ?? Number.POSITIVE_INFINITY)
    return lateMs >= 0 ? `${after.id} begins a run ${lateMs} ms after its deadline` : undefined
  }),
  onEachWrite('an undo that begins because a step failed is due at once', ({ before, after }) => {
    const isBegun = after.operation === 'fail' && after.state === 'open' && opensPiece(before, after)
    return isBegun && (after.dueAt > after.updatedAt || after.retrying)
      ? `${after.id} waits ${after.dueAt - after.updatedAt} ms before it undoes a step`
      : undefined
  }),
  {
    name: 'the delay before a retry follows from the failures before it',
    watch: scenario => {
      if (scenario.trial === 'reports') return {}
      const failed = createFailedRuns()
      return {
        on: event => {
          failed.see(event)
          if (event.what !== 'write') return undefined
          const isUsual = event.after.operation === 'fail' && failed.isUsual(event)
          return isUsual || isTimeOut(event) ? wrongDelay(event) : undefined
        },
      }
    },
  },
]

/** Runs whose handler threw an error that names no delay. The last end of a run counts, since local retries call the handler again. */
function createFailedRuns() {
  const failed = new Set<string>()
  return {
    see: (event: HistoryEvent) => {
      if (event.what !== 'ended') return
      const run = `${event.id} ${event.fence}`
      if (event.end === 'fail') failed.add(run)
      else failed.delete(run)
    },
    isUsual: ({ before, after }: Write) =>
      before !== undefined &&
      liveRuns(before).some(({ fence }) => !after.live[fence] && failed.has(`${after.id} ${fence}`)),
  }
}

/** Whether the waker has recorded that a run took too long. */
function isTimeOut({ by, before, after }: Write): boolean {
  const runs = before ? liveRuns(before).flatMap(({ fence }) => after.ended[fence] ?? []) : []
  return (
    by.startsWith('waker') && runs.some(({ state, cause }) => state === 'failed' && cause === 'timed-out')
  )
}

function wrongDelay({ before, after }: Write): string | undefined {
  if (!before || after.state !== 'open' || opensPiece(before, after)) return undefined
  const run = liveRuns(before).find(({ fence }) => !after.live[fence])
  if (!run) return undefined
  const { retry } = after.options
  const failures = retry.scope === 'worker' ? (after.failuresBy[run.workerId] ?? 1) : after.failures
  const most = delayMs(retry, failures)
  const least = most * (1 - retry.jitter) - 1
  const retryAt = retryTimeOf(after, run.workerId)
  if (retryAt === undefined) return undefined
  const waited = retryAt - after.updatedAt
  return waited > most || waited < least
    ? `${after.id} waits ${waited} ms after failure ${failures}, and ${most} ms follow from ${JSON.stringify(retry)}`
    : undefined
}

/** The longest delay before the retry after this many failures, as the product's page states it. */
function delayMs(
  { backoff, delayMs: first, maxDelayMs, delaysMs = [first] }: Retry,
  failures: number,
): number {
  switch (backoff) {
    case 'ladder':
      return delaysMs[Math.min(failures, delaysMs.length) - 1] ?? 0
    case 'fixed':
      return Math.min(first, maxDelayMs)
    case 'exponential':
      return Math.min(first * 2 ** (failures - 1), maxDelayMs)
    case 'fibonacci':
      return Math.min(first * fibonacci(failures), maxDelayMs)
  }
}

/** The number at a position of 1, 2, 3, 5, 8 … */
function fibonacci(position: number): number {
  return position < 3 ? position : fibonacci(position - 1) + fibonacci(position - 2)
}
