import { clientProblem, ProblemError } from './problem-error.ts'

/** The end of a call: after its time, or when the caller aborts it. */
export type TimeLimit = {
  /** Aborts when the call must end. */
  readonly signal: AbortSignal
  leftMs(): number
  /** The error of a call that was ended, or else the error as it is. What is not a `ProblemError` means that no answer came. */
  problemOf(error: unknown, call: string): ProblemError
  /** From now on only the caller's signal ends the call. */
  stopClock(): void
}

/** A longer time is no limit: a timer of more than 2^31 − 1 ms fires at once. */
const TIMER_MS_MAX = 2_147_483_647

export function startTimeLimit(timeoutMs: number, given: AbortSignal | undefined): TimeLimit {
  const clock = new AbortController()
  const until = Date.now() + timeoutMs
  const timer = timeoutMs > TIMER_MS_MAX ? undefined : setTimeout(() => clock.abort(), timeoutMs)
  const signal = given ? AbortSignal.any([given, clock.signal]) : clock.signal
  return {
    signal,
    leftMs: () => (signal.aborted ? 0 : until - Date.now()),
    problemOf: (error, call) => {
      if (given?.aborted) return aborted(call, given.reason)
      if (clock.signal.aborted) return timedOut(call, timeoutMs, error)
      return error instanceof ProblemError ? error : noAnswer(call, error)
    },
    stopClock: () => clearTimeout(timer),
  }
}

/** The error of a call that the caller has aborted. Its cause is the reason of the signal. */
export function aborted(call: string, reason: unknown): ProblemError {
  return clientProblem('aborted', { title: 'Aborted', status: 0, detail: `${call} was aborted` }, reason)
}

function timedOut(call: string, timeoutMs: number, cause: unknown): ProblemError {
  const detail = `${call} did not end within ${timeoutMs} ms`
  return clientProblem('timeout', { title: 'No answer in time', status: 408, detail }, cause)
}

function noAnswer(call: string, error: unknown): ProblemError {
  const reason = error instanceof Error ? error.message : String(error)
  return clientProblem('no-answer', { title: 'No answer', status: 0, detail: `${call}: ${reason}` }, error)
}
