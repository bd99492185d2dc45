import { DELAY_MS_MAX, PRIORITY_MAX, TYPE_CHARACTERS_MAX } from '../bounds.ts'
import { isName } from '../name.ts'
import { shown } from './rules.ts'

/**
 * What a handler may say of the end of its run, as the API bounds it, too. A number outside these bounds cannot be stored,
 * or makes a time that no calendar has. Each answers what is wrong, in words that follow the name of the argument.
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

/** Times are whole milliseconds; a fraction is rounded up, so that nothing comes early. */
export function wholeDelay(delayMs: number): number {
  return Math.ceil(delayMs)
}
