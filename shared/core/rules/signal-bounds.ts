import { DELAY_MS_MAX, PRIORITY_MAX, TYPE_CHARACTERS_MAX } from '../bounds.ts'
import { isName } from '../values/name.ts'
import { shown } from './rules.ts'

/**
 * Bounds of what a handler may report at the end of its run; the API has the same bounds. A number outside them cannot be stored,
 * or leads to a time beyond the last `Date`. Each function returns the problem, as words that follow the name of the argument.
 */

export function delayProblem(value: unknown): string | undefined {
  const isLegal = typeof value === 'number' && value >= 0 && value <= DELAY_MS_MAX
  return isLegal
    ? undefined
    : `must be a number of milliseconds from 0 to ${DELAY_MS_MAX} (ten years), not ${shown(value)}`
}

export function priorityProblem(value: unknown): string | undefined {
  const isLegal = Number.isInteger(value) && Math.abs(value as number) <= PRIORITY_MAX
  return isLegal
    ? undefined
    : `must be a whole number from ${-PRIORITY_MAX} to ${PRIORITY_MAX}, not ${shown(value)}`
}

export function stageProblem(value: unknown): string | undefined {
  const isLegal = typeof value === 'string' && isName(value, TYPE_CHARACTERS_MAX)
  return isLegal
    ? undefined
    : `must be a text of 1–${TYPE_CHARACTERS_MAX} characters without control characters, not ${shown(value)}`
}

/** The delay in whole milliseconds. A fraction is rounded up, so that no task starts early. */
export function wholeDelay(delayMs: number): number {
  return Math.ceil(delayMs)
}
