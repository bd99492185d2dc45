import { ProblemError } from './problem-error.ts'

/** Whether a request may be sent again. */
export type Repetition = {
  /** Whether a second request does no harm if the first one was carried out. @default false: it is sent again only after 429 */
  readonly isRepeatable?: boolean
  /** Whether the caller itself waits after 429. @default false */
  readonly isPacedByCaller?: boolean
}

/** The pause before the next try. `isUncertain`: the failed request may have been carried out. */
export type Pause = { readonly ms: number; readonly isUncertain: boolean }

const FIRST_PAUSE_MS = 200
const LAST_PAUSE_MS = 5_000
/** Statuses of gateways and of an API whose store does not answer. */
const OUTAGES: readonly number[] = [502, 503, 504]

/**
 * How long to wait before the request is sent again; undefined when that would not help or may do harm. The pause doubles with each try,
 * half of it by chance, and is at least as long as the API asks.
 */
export function pauseAfter(error: unknown, nth: number, ask: Repetition): Pause | undefined {
  if (!(error instanceof ProblemError)) return undefined
  const { status, problem, code, cause } = error
  const isThrottled = status === 429
  // `fetch` throws a TypeError when the network fails. Other errors are those of a signer or a token, which would fail again.
  const isOutage = OUTAGES.includes(status) || (code === 'no-answer' && cause instanceof TypeError)
  const mayRepeat = isThrottled ? !ask.isPacedByCaller : isOutage && ask.isRepeatable
  if (!mayRepeat) return undefined
  const full = Math.min(FIRST_PAUSE_MS * 2 ** (nth - 1), LAST_PAUSE_MS)
  const ms = Math.max(problem.retryAfterMs ?? 0, full / 2) + (Math.random() * full) / 2
  return { ms, isUncertain: !isThrottled }
}
