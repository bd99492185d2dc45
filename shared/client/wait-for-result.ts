import type { Json } from '../core/json.ts'
import type { TaskError } from '../core/task/error.ts'
import { ProblemError } from './problem-error.ts'

export type ResultOptions = {
  /** How long to wait for the end, in milliseconds. @default 30,000 */
  readonly timeoutMs?: number
  /** Ends the waiting: the call then throws the signal's reason. @default only `timeoutMs` ends it */
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
 * @throws ProblemError `urn:baton:problem:task-failed` when it failed or was cancelled, `urn:baton:problem:timeout` when it
 * did not end in time.
 */
export async function waitForResult(
  get: () => Promise<Ending>,
  { timeoutMs = DEFAULT_TIMEOUT_MS, signal }: ResultOptions,
): Promise<unknown> {
  const until = Date.now() + timeoutMs
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * GROWTH, LAST_PAUSE_MS)) {
    signal?.throwIfAborted()
    const seen = await get()
    if (seen.status === 'succeeded') return seen.result
    if (seen.status === 'failed' || seen.status === 'cancelled') throw new ProblemError(failureOf(seen))
    const left = until - Date.now()
    if (left <= 0) throw new ProblemError(timeoutOf(seen, timeoutMs))
    await new Promise(resolve => setTimeout(resolve, Math.min(pause, left)))
  }
}

function failureOf({ id, status, error }: Ending) {
  return {
    type: 'urn:baton:problem:task-failed',
    title: 'The task did not succeed',
    status: 409,
    detail: `${id} ${status === 'failed' ? 'has failed' : `was ${status}`}${error ? `: ${error.name}: ${error.message}` : ''}`,
  }
}

function timeoutOf({ id, status }: Ending, timeoutMs: number) {
  return {
    type: 'urn:baton:problem:timeout',
    title: 'The task did not end in time',
    status: 408,
    detail: `${id} is still ${status} after ${timeoutMs} ms`,
  }
}
