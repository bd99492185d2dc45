/** This file selects the lines of functions and workers that `npm start` shows. A line arrives as `<logical id>: <line>`. */

type LogLine = {
  readonly level?: string
  readonly message?: string
  readonly timestamp?: string
  readonly taskId?: string
  readonly attempt?: number
  readonly nextTry?: string
  readonly status?: string
  readonly error?: ShownError
  readonly [field: string]: unknown
}

type ShownError = {
  readonly name?: string
  readonly message?: string
  readonly causes?: ReadonlyArray<{ readonly name: string; readonly message: string }>
}

/** Fields that are not shown: the first part of the line names them, or a reader does not need them. */
const HIDDEN_FIELDS = new Set([
  'level',
  'message',
  'timestamp',
  'service',
  'xray_trace_id',
  'traceId',
  'taskId',
  'runId',
])

/**
 * The line for the terminal; undefined if it is not shown. Each failure of a run is one line, and so is each task that needs
 * attention. `isVerbose` shows everything except metrics.
 */
export function terminalLine(line: string, isVerbose: boolean): string | undefined {
  const [, source = '', text = line] = /^([A-Za-z0-9]+): (.*)$/s.exec(line) ?? []
  const logged = logLineIn(text)
  if (!logged) return isVerbose || isFromTheCloud(line) ? line : undefined
  if ('_aws' in logged) return undefined
  const failure = failureLine(logged)
  if (failure) return failure
  const isShown = isVerbose || logged.level === 'ERROR'
  return isShown ? plainLine(source, logged) : undefined
}

/** Whether the local cloud itself has written the line. */
function isFromTheCloud(line: string): boolean {
  return line.includes('NOT SUPPORTED') || line.startsWith('DynamoDB Local')
}

function logLineIn(text: string): LogLine | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    return JSON.parse(text) as LogLine
  } catch {
    return undefined
  }
}

const VERBS: Readonly<Record<string, string>> = { 'run failed': 'failed', 'run lost': 'was lost' }

/** `✗ resize:img-1 failed (attempt 2): TypeError: fetch failed ← Error: connect ECONNREFUSED …; next try in 4 s`. */
function failureLine({ message = '', taskId, attempt, error, ...line }: LogLine): string | undefined {
  const verb = VERBS[message]
  if (!verb || taskId === undefined) return undefined
  return `✗ ${taskId} ${verb} (attempt ${attempt}): ${errorText(error)}; ${nextTryText(line)}`
}

function errorText(error: ShownError = {}): string {
  const chain = [error, ...(error.causes ?? [])]
  return chain.map(({ name = 'Error', message = '' }) => oneLine(`${name}: ${message}`)).join(' ← ')
}

const ERROR_CHARACTERS_MAX = 300

function oneLine(text: string): string {
  const flat = text.replace(/\s+/g, ' ')
  return flat.length <= ERROR_CHARACTERS_MAX ? flat : `${flat.slice(0, ERROR_CHARACTERS_MAX - 1)}…`
}

function nextTryText({ nextTry = 'never', timestamp = '', status }: LogLine): string {
  if (nextTry === 'never')
    return status === 'compensating' ? 'its flow is undone now' : 'it is not tried again'
  const seconds = (Date.parse(nextTry) - Date.parse(timestamp)) / 1_000
  return seconds > 0.05
    ? `next try in ${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`
    : 'next try now'
}

function plainLine(source: string, line: LogLine): string {
  const { level = '', message = '', timestamp = '', taskId } = line
  const more = Object.fromEntries(Object.entries(line).filter(([name]) => !HIDDEN_FIELDS.has(name)))
  const time = timestamp.slice(11, 23)
  const fields = Object.keys(more).length > 0 ? ` ${JSON.stringify(more)}` : ''
  return [time, level.padEnd(5), taskId ?? source, message].filter(part => part !== '').join(' ') + fields
}
