import type { Json } from '../core/json.ts'
import type { TaskError } from '../core/task/task.ts'
import { ProblemError } from './problem-error.ts'

export type ResultOptions = {
  /** How long to wait for the task's end; 30 s by default. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

const DEFAULT_TIMEOUT_MS = 30_000
const FIRST_PAUSE_MS = 50
const LAST_PAUSE_MS = 1_000
const GROWTH = 1.5

/** A task or a canvas, as far as its end is concerned. */
type Waited = {
  readonly id: string
  readonly status: string
  readonly result?: Json
  readonly error?: TaskError
}

/**
 * Reads a task or a canvas again and again, ever more seldom, until it has ended, and returns its result.
 *
 * @throws ProblemError `urn:baton:problem:task-failed` when it ended otherwise, `urn:baton:problem:timeout` when it
 * did not end in time.
 */
export async function waitForResult(
  get: () => Promise<Waited>,
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

function failureOf({ id, status, error }: Waited) {
  return {
    type: 'urn:baton:problem:task-failed',
    title: 'The task did not succeed',
    status: 409,
    detail: `${id} has ${status}${error ? `: ${error.name}: ${error.message}` : ''}`,
  }
}

function timeoutOf({ id, status }: Waited, timeoutMs: number) {
  return {
    type: 'urn:baton:problem:timeout',
    title: 'The task did not end in time',
    status: 408,
    detail: `${id} is still ${status} after ${timeoutMs} ms`,
  }
}
