import { DELAY_MS_MAX } from '../bounds.ts'
import type { Retry } from '../options.ts'
import { failuresOf } from '../task/piece.ts'
import type { Task } from '../task/task.ts'

/** How long a task waits before a retry. */

/** Milliseconds before the retry that follows the failure just counted. */
export function retryDelayMs(task: Task, workerId: string, chance: number): number {
  const { retry } = task.options
  const failures = retry.scope === 'worker' ? failuresOf(task, workerId) : task.failures
  return backoffMs(retry, Math.max(1, failures), chance)
}

/**
 * After 60 doublings a millisecond is longer than any delay. The factor of 1,024 doublings is infinite, and 0 ms times that factor
 * is `NaN`.
 */
const DOUBLINGS_MAX = 60

/** Milliseconds before retry number `retryNumber` (1 is the first). `chance` (0 to 1) is the share of the jitter that is subtracted. */
export function backoffMs(retry: Retry, retryNumber: number, chance: number): number {
  const delay = Math.min(plainDelayMs(retry, retryNumber), ceilingMs(retry), DELAY_MS_MAX)
  return Math.round(delay * (1 - retry.jitter * chance))
}

function plainDelayMs(retry: Retry, retryNumber: number): number {
  switch (retry.backoff) {
    case 'fixed':
      return retry.delayMs
    case 'exponential':
      return retry.delayMs * 2 ** Math.min(retryNumber - 1, DOUBLINGS_MAX)
    case 'fibonacci':
      return retry.delayMs * fibonacci(retryNumber, retry.maxDelayMs)
    case 'ladder': {
      const delays = retry.delaysMs ?? [retry.delayMs]
      return delays[Math.min(retryNumber, delays.length) - 1] ?? retry.delayMs
    }
  }
}

/** The longest delay of a backoff. A ladder lists its own delays; `maxDelayMs` bounds all others. */
function ceilingMs(retry: Retry): number {
  return retry.backoff === 'ladder' ? Number.POSITIVE_INFINITY : retry.maxDelayMs
}

/** The number at a position of 1, 2, 3, 5, 8 … It stops growing at `enough`. */
function fibonacci(position: number, enough: number): number {
  let [previous, current] = [1, 1]
  for (let i = 1; i < position && current < enough; i++) [previous, current] = [current, previous + current]
  return current
}
