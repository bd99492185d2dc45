import { MAX_DELAY_MS } from './limits.ts'
import type { Retry } from './options.ts'

/** A millisecond doubled so often is longer than any delay; beyond 1,023 doublings 0 ms would become no number. */
const MAX_DOUBLINGS = 60

/**
 * Milliseconds to wait before retry number `retryNumber` (1 is the first). `chance` (0 to 1) decides how much of the
 * jitter is taken off.
 */
export function backoffMs(retry: Retry, retryNumber: number, chance: number): number {
  const delay = Math.min(plainDelayMs(retry, retryNumber), ceilingMs(retry), MAX_DELAY_MS)
  return Math.round(delay * (1 - retry.jitter * chance))
}

function plainDelayMs(retry: Retry, retryNumber: number): number {
  switch (retry.backoff) {
    case 'fixed':
      return retry.delayMs
    case 'exponential':
      return retry.delayMs * 2 ** Math.min(retryNumber - 1, MAX_DOUBLINGS)
    case 'fibonacci':
      return retry.delayMs * fibonacci(retryNumber, retry.maxDelayMs)
    case 'ladder': {
      const delays = retry.delaysMs ?? [retry.delayMs]
      return delays[Math.min(retryNumber, delays.length) - 1] ?? retry.delayMs
    }
  }
}

/** A ladder names its delays itself; the others are bounded by `maxDelayMs`. */
function ceilingMs(retry: Retry): number {
  return retry.backoff === 'ladder' ? Number.POSITIVE_INFINITY : retry.maxDelayMs
}

/** 1, 2, 3, 5, 8 … ; stops growing at `enough`. */
function fibonacci(position: number, enough: number): number {
  let [previous, current] = [1, 1]
  for (let i = 1; i < position && current < enough; i++) [previous, current] = [current, previous + current]
  return current
}
