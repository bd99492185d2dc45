import { COUNTED_MAX } from '../api/paces.ts'
import { number } from './format.ts'

/** A count that stops at `COUNTED_MAX`: `1,000+` means so many or more. */
export function countText(count: number): string {
  return count >= COUNTED_MAX ? `${number(COUNTED_MAX)}+` : number(count)
}

/** The sum of counts of which some may have stopped at `COUNTED_MAX`. */
export function sumText(counts: readonly number[]): string {
  const sum = counts.reduce((total, count) => total + count, 0)
  return counts.some(count => count >= COUNTED_MAX) ? `${number(sum)}+` : number(sum)
}
