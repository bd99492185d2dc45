import type { ProblemError } from './problem-error.ts'

/** Whether the call failed because of an outage or of too many calls, so that the same call may succeed later. */
export function isOutage(error: unknown): error is ProblemError {
  if (!isProblem(error) || error.code === 'aborted') return false
  return error.status === 0 || error.status === 408 || error.status === 429 || error.status >= 500
}

/** By the name, because the class loads with the client, and this with its first batch. */
export function isProblem(error: unknown): error is ProblemError {
  return error instanceof Error && error.name === 'ProblemError'
}
