import { jsonReplacer } from '../core/task-error/task-error.ts'
import type { Log, LogFields } from '../ports/machine.ts'

type LogLevel = 'debug' | 'info' | 'warn' | 'error'

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** Writes each line of level `least` or above as one JSON object to standard output. */
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

/**
 * Calls `end` once when no program reads the process's output any more, because the program that started the worker has died. Such an
 * error must not be logged: the line would fail as well, and the next one, until the memory is full.
 */
export function endWithTheLog(end: () => void): void {
  let isEnding = false
  const onError = () => {
    if (isEnding) return
    isEnding = true
    end()
  }
  process.stdout.on('error', onError)
  process.stderr.on('error', onError)
}
