import { RUN_LOG_BYTES_MAX } from '../../core/bounds.ts'
import { textBytes } from '../../core/json.ts'
import type { Outcome } from '../../core/run/finish.ts'
import { nothingRedacted, type Redaction } from '../../core/task-error/redact.ts'
import { errorOfThrown, jsonReplacer } from '../../core/task-error/task-error.ts'
import type { Clock, Log, LogFields } from '../../ports/machine.ts'

/** What a handler logs during one run: it goes to the log of its process, and the newest of it is kept for the case that the run fails. */
export type RunLog = Log & {
  /** Hides this from now on, in what is logged and in the error with which the run ends. */
  hide(redaction: Redaction): void
  /** The outcome as it is told: a failure with the newest lines, at most `RUN_LOG_BYTES_MAX` in UTF-8. */
  outcomeWithLog(outcome: Outcome): Outcome
}

type Level = keyof Log

/** `named`: fields that every line carries, whatever else it is given. A line that cannot be written must not fail the handler that writes it. */
export function createRunLog(
  { log, clock }: { readonly log: Log; readonly clock: Clock },
  named: LogFields,
): RunLog {
  const kept = createTail()
  let redaction = nothingRedacted
  const line = (level: Level) => (message: string, given?: LogFields) => {
    const text = redaction.text(String(message))
    const fields = given && redaction.fields(withPlainErrors(given))
    kept.add(`${new Date(clock.now()).toISOString()} ${level.toUpperCase()} ${text}${fieldsText(fields)}`)
    try {
      log[level](text, { ...named, ...fields, ...named })
    } catch {
      log[level](text, { ...named, fields: fieldsText(fields) })
    }
  }
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    hide: found => {
      redaction = found
    },
    outcomeWithLog: outcome => {
      if (outcome.outcome !== 'fail') return outcome
      const log = kept.text()
      return { ...outcome, error: redaction.error(outcome.error), ...(log !== undefined && { log }) }
    },
  }
}

/** Errors have no members that JSON sees, and their causes may go in circles. */
export function withPlainErrors(fields: LogFields): LogFields {
  const entries = Object.entries(fields)
  if (!entries.some(([, value]) => value instanceof Error)) return fields
  return Object.fromEntries(
    entries.map(([name, value]) => [name, value instanceof Error ? errorOfThrown(value) : value]),
  )
}

/** Fields as JSON behind the message; what JSON cannot hold is left out by its name. */
function fieldsText(fields: LogFields | undefined): string {
  if (!fields || Object.keys(fields).length === 0) return ''
  try {
    return ` ${JSON.stringify(fields, jsonReplacer)}`
  } catch {
    return ` {fields that are no JSON: ${Object.keys(fields).join(', ')}}`
  }
}

const CUT = '…'

/** The newest lines: older ones go first, and one that is too long keeps its beginning. */
function createTail() {
  const lines: string[] = []
  let bytes = 0
  return {
    add: (line: string) => {
      const fitted = beginningOf(line.toWellFormed())
      lines.push(fitted)
      bytes += textBytes(fitted) + 1
      while (bytes - 1 > RUN_LOG_BYTES_MAX) bytes -= textBytes(lines.shift() ?? '') + 1
    },
    text: () => (lines.length > 0 ? lines.join('\n') : undefined),
  }
}

function beginningOf(line: string): string {
  if (line.length * 3 <= RUN_LOG_BYTES_MAX || textBytes(line) <= RUN_LOG_BYTES_MAX) return line
  const room = new Uint8Array(RUN_LOG_BYTES_MAX - textBytes(CUT))
  const { read } = new TextEncoder().encodeInto(line, room)
  return line.slice(0, read) + CUT
}
