import { errorOfThrown } from '../core/thrown-error.ts'
import type { Log, LogFields } from '../ports/machine.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** One JSON object a line on standard output, from `least` on. */
export function createConsoleLog(least: LogLevel = 'info'): Log {
  const line =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return
      const timestamp = new Date().toISOString()
      console.log(JSON.stringify({ level: level.toUpperCase(), timestamp, message, ...fields }, readable))
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/** Errors have no members that JSON sees, and their causes may go in circles; big numbers are none of JSON's own. */
function readable(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Error ? errorOfThrown(value) : value
}
