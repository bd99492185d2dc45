import { jsonReplacer } from '../core/task-error/task-error.ts'
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
      const fixed = { level: level.toUpperCase(), timestamp, message }
      console.log(JSON.stringify({ ...fixed, ...fields, ...fixed }, jsonReplacer))
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}
