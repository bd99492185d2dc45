import { clientProblem, ProblemError } from './problem-error.ts'

/** Whether a request may be sent again. */
export type Repetition = {
  /** Whether a second request does no harm if the first one was carried out. @default false: it is sent again only after 429 */
  readonly isRepeatable?: boolean
  /** Whether the caller itself waits after 429. @default false */
  readonly isPacedByCaller?: boolean
}

/** The pause before the next try. `isUncertain`: the failed request may have been carried out. */
type Pause = { readonly ms: number; readonly isUncertain: boolean }

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
  // `fetch` throws a TypeError when the network fails. Other errors come from a signer or a token, which would fail again.
  const isOutage = OUTAGES.includes(status) || (code === 'no-answer' && cause instanceof TypeError)
  const mayRepeat = isThrottled ? !ask.isPacedByCaller : isOutage && ask.isRepeatable
  if (!mayRepeat) return undefined
  const full = Math.min(FIRST_PAUSE_MS * 2 ** (nth - 1), LAST_PAUSE_MS)
  const ms = Math.max(problem.retryAfterMs ?? 0, full / 2) + (Math.random() * full) / 2
  return { ms, isUncertain: !isThrottled }
}

/** Resolves after `ms`, or as soon as `signal` aborts. */
export function pauseFor(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
    if (signal?.aborted) done()
  })
}

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

/** A longer time does not limit: a timer of more than 2^31 − 1 ms fires at once. */
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

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARACTERS = 10
const RANDOM_CHARACTERS = 16

/** A new ULID: a key, or the id of a request, that no other has. */
export function newKey(): string {
  let time = Date.now()
  let text = ''
  for (let at = 0; at < TIME_CHARACTERS; at++) {
    text = ALPHABET.charAt(time % ALPHABET.length) + text
    time = Math.floor(time / ALPHABET.length)
  }
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_CHARACTERS))
  return text + Array.from(random, byte => ALPHABET.charAt(byte % ALPHABET.length)).join('')
}
