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

/** Errors have no members that JSON sees; big numbers are none of its own. */
function readable(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (!(value instanceof Error)) return value
  const { name, message, stack, cause } = value
  return { name, message, stack, ...(cause !== undefined && { cause }) }
}
