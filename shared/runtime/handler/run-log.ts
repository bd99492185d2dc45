import { RUN_LOG_BYTES_MAX } from '../../core/bounds.ts'
import { nothingRedacted, type Redaction } from '../../core/task-error/redact.ts'
import { errorOfThrown, jsonReplacer } from '../../core/task-error/task-error.ts'
import { textBytes } from '../../core/values/values.ts'
import type { Clock, Log, LogFields } from '../../ports/machine.ts'
import type { RunEnd } from '../../ports/runs.ts'

/** The log of one run. Its lines go to the log of the process. The newest lines are kept, to be stored if the run fails. */
export type RunLog = {
  /** What the handler writes to. */
  readonly log: Log
  /** From now on, hides the redacted values in log lines and in the error with which the run ends. */
  hide(redaction: Redaction): void
  /** The newest lines that have at most so many bytes in UTF-8. Undefined while there is none. */
  newest(bytesMax: number): string | undefined
  /** The end as it is stored: a failure gets the newest log lines, at most `RUN_LOG_BYTES_MAX` in UTF-8. */
  endWithLog<End extends RunEnd>(end: End): End
}

/**
 * Creates the log of a run. `named` are fields that every line carries; a line's own fields do not replace them. A line
 * that cannot be written does not fail its handler.
 */
export function createRunLog(
  { log, clock }: { readonly log: Log; readonly clock: Clock },
  named: LogFields,
): RunLog {
  const kept = createTail()
  let redaction = nothingRedacted
  const line = (level: keyof Log) => (message: string, given?: LogFields) => {
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
    log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
    hide: found => {
      redaction = found
    },
    newest: kept.newest,
    endWithLog: end => {
      if (end.outcome !== 'fail') return end
      const log = kept.newest(RUN_LOG_BYTES_MAX)
      return { ...end, error: redaction.error(end.error), ...(log !== undefined && { log }) }
    },
  }
}

/** The fields, with errors as plain objects: JSON shows no members of an error, and the causes of errors may be circular. */
export function withPlainErrors(fields: LogFields): LogFields {
  const entries = Object.entries(fields)
  if (!entries.some(([, value]) => value instanceof Error)) return fields
  return Object.fromEntries(
    entries.map(([name, value]) => [name, value instanceof Error ? errorOfThrown(value) : value]),
  )
}

/** The fields as JSON, to follow the message. Fields that cannot be JSON are listed by their names only. */
function fieldsText(fields: LogFields | undefined): string {
  if (!fields || Object.keys(fields).length === 0) return ''
  try {
    return ` ${JSON.stringify(fields, jsonReplacer)}`
  } catch {
    return ` {fields that are not JSON: ${Object.keys(fields).join(', ')}}`
  }
}

const CUT = '…'

/** Keeps the newest lines. Drops the oldest ones first, and cuts the end of a line that is too long. */
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
    newest: (bytesMax: number) => {
      let [first, left] = [lines.length, bytesMax + 1]
      while (first > 0) {
        left -= textBytes(lines[first - 1] ?? '') + 1
        if (left < 0) break
        first -= 1
      }
      const last = lines.at(-1)
      return last === undefined ? undefined : lines.slice(first).join('\n') || beginningOf(last, bytesMax)
    },
  }
}

function beginningOf(line: string, bytesMax = RUN_LOG_BYTES_MAX): string {
  if (line.length * 3 <= bytesMax || textBytes(line) <= bytesMax) return line
  const kept = new Uint8Array(bytesMax - textBytes(CUT))
  const { read } = new TextEncoder().encodeInto(line, kept)
  return line.slice(0, read) + CUT
}
