import { errorOfThrown } from './thrown-error.ts'

/**
 * For JSON.stringify, of what is logged. Errors have no members that JSON sees, and their causes may go in circles; big numbers
 * are none of JSON's own.
 */
export function readable(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Error ? errorOfThrown(value) : value
}
