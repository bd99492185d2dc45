import type { TaskError } from '../core/task-error/task-error.ts'
import type { Json } from '../core/values/values.ts'
import { clientProblem } from './problem-error.ts'
import { aborted, pauseFor } from './repetition.ts'
import type { CallOptions } from './send.ts'

export type ResultOptions = {
  /** How long to wait for the end, in milliseconds. @default 30,000 */
  readonly timeoutMs?: number
  /** Ends the waiting: the call then throws `ProblemError` with the code `aborted`. @default only `timeoutMs` ends it */
  readonly signal?: AbortSignal
}

const DEFAULT_TIMEOUT_MS = 30_000
const FIRST_PAUSE_MS = 50
const LAST_PAUSE_MS = 1_000
const GROWTH = 1.5

/** The fields of a task or a canvas that show its end. */
type Ending = {
  readonly id: string
  readonly status: string
  readonly result?: Json
  readonly error?: TaskError
}

/**
 * Reads a task or a canvas until it has ended, and returns its result. The pauses between reads grow from 50 ms to 1 s.
 *
 * @throws ProblemError `task-failed` when it failed or was cancelled, `timeout` when it did not end in time, `aborted`.
 */
export async function waitForResult(
  get: (call: CallOptions) => Promise<Ending>,
  { timeoutMs = DEFAULT_TIMEOUT_MS, signal }: ResultOptions,
): Promise<unknown> {
  const until = Date.now() + timeoutMs
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * GROWTH, LAST_PAUSE_MS)) {
    const seen = await get({ timeoutMs: Math.max(1_000, until - Date.now()), ...(signal && { signal }) })
    if (seen.status === 'succeeded') return seen.result
    if (seen.status === 'failed' || seen.status === 'cancelled') throw failureOf(seen)
    const left = until - Date.now()
    if (left <= 0) throw timeoutOf(seen, timeoutMs)
    await pauseFor(Math.min(pause, left), signal)
    if (signal?.aborted) throw aborted(`the wait for ${seen.id}`, signal.reason)
  }
}

function failureOf({ id, status, error }: Ending) {
  const what = status === 'failed' ? 'has failed' : `was ${status}`
  const why = error ? `: ${error.name}: ${error.message}` : ''
  return clientProblem('task-failed', {
    title: 'The task did not succeed',
    status: 409,
    detail: `${id} ${what}${why}`,
  })
}

function timeoutOf({ id, status }: Ending, timeoutMs: number) {
  return clientProblem('timeout', {
    title: 'The task did not end in time',
    status: 408,
    detail: `${id} is still ${status} after ${timeoutMs} ms`,
  })
}
