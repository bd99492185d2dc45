import { CLOUD_SOURCE, type LogLine } from '../../local/log.ts'
import type { DevOptions } from './command/dev-command.ts'
import { placeIn } from './synthesis/synthesis.ts'

/** What `baton dev` prints. */
export type Terminal = ReturnType<typeof createTerminal>

export function createTerminal(
  { verbose }: Pick<DevOptions, 'verbose'>,
  folder: string,
  first: Shown = 'runs',
) {
  let shown = verbose ? 'everything' : first
  const { print, during } = createProgress()
  return {
    say: print,
    /** Does work that may take long. While it is under way, its name is printed after each silence. */
    during,
    /** Prints a line of a function or service, if it is shown. `label` names its stack when several run. */
    line: (line: LogLine, isOwn: (source: string) => boolean, label?: string) => {
      const text = terminalLine(line, { shown, isOwn, folder })
      if (text !== undefined) print(label === undefined ? text : `[${label}] ${text}`)
    },
    show: (next: Shown) => {
      if (!verbose) shown = next
    },
  }
}

/** While something is under way, no more than this time passes without a sign. */
const SILENCE_MS_MAX = 1_500

/** Prints lines, and after each silence what is under way. At a terminal the next line takes the place of such a sign. */
function createProgress() {
  const phases = new Set<{ readonly name: string; readonly since: number }>()
  const { stdout } = process
  let timer: NodeJS.Timeout | undefined

  // The present line may show a progress bar, or what is under way.
  const clear = () => void (stdout.isTTY && stdout.write('\r\x1b[K'))

  function print(text: string): void {
    clear()
    console.log(text)
    awaitSilence()
  }

  function awaitSilence(): void {
    clearTimeout(timer)
    if (phases.size > 0) timer = setTimeout(showPhases, SILENCE_MS_MAX)
  }

  function showPhases(): void {
    const now = performance.now()
    const text = `… ${[...phases].map(({ name, since }) => `${name} (${Math.round((now - since) / 1_000)} s)`).join(', ')}`
    clear()
    if (stdout.isTTY) stdout.write(text)
    else console.log(text)
    awaitSilence()
  }

  return {
    print,
    during: async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
      const phase = { name, since: performance.now() }
      phases.add(phase)
      if (phases.size === 1) awaitSilence()
      try {
        return await work()
      } finally {
        phases.delete(phase)
        if (phases.size === 0) {
          clearTimeout(timer)
          clear()
        }
      }
    },
  }
}

/**
 * The lines of functions and services as a developer reads them: one for each run with its task, outcome, duration and error, and
 * what handlers print and log. Powertools and Baton's own log write JSON; other lines are shown as they are.
 */

/** Which lines are shown: failed runs and errors; also all runs and what handlers say; or every line but metrics. */
export type Shown = 'failures' | 'runs' | 'everything'

type Reading = {
  readonly shown: Shown
  /** Whether a function is one of Baton's own. Of these, only runs and errors are shown. */
  isOwn(source: string): boolean
  /** The folder of the project, to which the places of errors are relative. */
  readonly folder: string
}

type LoggedFields = {
  readonly level?: string
  readonly message?: string
  readonly timestamp?: string
  readonly taskId?: string
  readonly attempt?: number
  readonly ms?: number
  readonly nextTry?: string
  readonly status?: string
  /** The step of a flow, with its direction, or the stage. */
  readonly step?: string
  readonly direction?: string
  readonly stage?: string
  readonly error?: ShownError
  readonly [field: string]: unknown
}

type ShownError = {
  readonly name?: string
  readonly message?: string
  readonly stack?: string
  readonly causes?: ReadonlyArray<{ readonly name: string; readonly message: string }>
}

/** Fields that are not shown: the first part of the line names them, or a reader does not need them. */
const HIDDEN_FIELDS = new Set([
  'level',
  'message',
  'timestamp',
  'service',
  'sampling_rate',
  'xray_trace_id',
  'traceId',
  'taskId',
  'runId',
])

/** The line for the terminal; undefined if it is not shown. */
export function terminalLine(given: LogLine, reading: Reading): string | undefined {
  if (given.source === CLOUD_SOURCE) return given.line
  const logged = logLineIn(given.line)
  return logged ? loggedLine(given.source, logged, reading) : printedLine(given, reading)
}

function loggedLine(source: string, logged: LoggedFields, reading: Reading): string | undefined {
  if ('_aws' in logged) return undefined
  const run = runLine(logged, reading)
  if (run) return run.isFailure || reading.shown !== 'failures' ? run.text : undefined
  return isSaid(source, reading) || logged.level === 'ERROR' ? plainLine(source, logged) : undefined
}

/** A line that is not JSON: a function, or Node itself, has printed it. */
function printedLine({ source, line }: LogLine, reading: Reading): string | undefined {
  return isSaid(source, reading) ? `${nowText()} ${source} ${line}` : undefined
}

function isSaid(source: string, { shown, isOwn }: Reading): boolean {
  return shown === 'everything' || (shown === 'runs' && !isOwn(source))
}

function logLineIn(text: string): LoggedFields | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    return JSON.parse(text) as LoggedFields
  } catch {
    return undefined
  }
}

const RUN_ENDS: Readonly<Record<string, { readonly mark: string; readonly verb: string }>> = {
  'run succeeded': { mark: '✓', verb: 'succeeded' },
  'run released': { mark: '↺', verb: 'was released' },
  'run cancelled': { mark: '∅', verb: 'was cancelled' },
  'run failed': { mark: '✗', verb: 'failed' },
  'run lost': { mark: '✗', verb: 'was lost' },
}

/** How a step of a flow has succeeded, by its direction. */
const STEP_SUCCESSES: typeof RUN_ENDS = {
  do: { mark: '✓', verb: 'done' },
  undo: { mark: '↺', verb: 'undone' },
}

/**
 * `✗ resize:img-1 failed after 31 ms (attempt 2): TypeError: fetch failed (tasks/resize.ts:7:11) ← Error: connect ECONNREFUSED …; next
 * try in 4 s`, with the time before it. A run of a flow names its step: `↺ order:1 reserve undone after 31 ms`.
 */
function runLine(
  line: LoggedFields,
  { folder }: Reading,
): { readonly text: string; readonly isFailure: boolean } | undefined {
  const { message = '', taskId, attempt = 1, ms, error, direction = '' } = line
  const success = message === 'run succeeded' ? STEP_SUCCESSES[direction] : undefined
  const end = success ?? RUN_ENDS[message]
  if (!end || taskId === undefined) return undefined
  const isFailure = end.mark === '✗'
  const piece = success ? line.step : pieceText(line)
  const said = [
    timeText(line.timestamp),
    end.mark,
    taskId,
    ...(piece === undefined ? [] : [piece]),
    end.verb,
    ...(ms === undefined ? [] : [`after ${durationText(ms)}`]),
    ...(isFailure || attempt > 1 ? [`(attempt ${attempt})`] : []),
  ].join(' ')
  const more = isFailure ? `: ${errorText(error, folder)}; ${nextTryText(line)}` : flowEndText(line)
  return { text: said + more, isFailure }
}

/** The step of a flow, as `reserve` or `undo reserve`, or the stage. */
function pieceText({ step, direction, stage }: LoggedFields): string | undefined {
  return step !== undefined && direction === 'undo' ? `undo ${step}` : (step ?? stage)
}

/** How the flow has ended with the run of a step. */
function flowEndText({ step, status }: LoggedFields): string {
  if (step === undefined || status === undefined) return ''
  return `; its flow ${status === 'cancelled' ? 'was' : 'has'} ${status}`
}

function errorText(error: ShownError = {}, folder: string): string {
  const [first = '', ...causes] = [error, ...(error.causes ?? [])].map(({ name = 'Error', message = '' }) =>
    oneLine(`${name}: ${message}`),
  )
  const place = placeIn((error.stack ?? '').split('\n'), folder)
  const isNamed = place === undefined || first.includes(place)
  return [isNamed ? first : `${first} (${place})`, ...causes].join(' ← ')
}

const ERROR_CHARACTERS_MAX = 300

function oneLine(text: string): string {
  const flat = text.replace(/\s+/g, ' ')
  return flat.length <= ERROR_CHARACTERS_MAX ? flat : `${flat.slice(0, ERROR_CHARACTERS_MAX - 1)}…`
}

function nextTryText({ nextTry = 'never', timestamp = '', status }: LoggedFields): string {
  if (nextTry === 'never')
    return status === 'compensating' ? 'its flow is undone now' : 'it is not tried again'
  const ms = Date.parse(nextTry) - Date.parse(timestamp)
  return ms > 50 ? `next try in ${durationText(ms)}` : 'next try now'
}

function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`
}

function plainLine(source: string, line: LoggedFields): string {
  const { level = '', message = '', taskId } = line
  const more = Object.fromEntries(Object.entries(line).filter(([name]) => !HIDDEN_FIELDS.has(name)))
  const shownLevel = level === 'INFO' ? '' : level
  const fields = Object.keys(more).length > 0 ? ` ${JSON.stringify(more)}` : ''
  const parts = [timeText(line.timestamp), shownLevel, taskId ?? source, message]
  return parts.filter(part => part !== '').join(' ') + fields
}

/** The time of day on the developer's clock. */
function timeText(timestamp: string | undefined): string {
  const at = new Date(timestamp ?? Number.NaN)
  return Number.isNaN(at.getTime()) ? nowText() : clockText(at)
}

function nowText(): string {
  return clockText(new Date())
}

function clockText(at: Date): string {
  return `${at.toTimeString().slice(0, 8)}.${String(at.getMilliseconds()).padStart(3, '0')}`
}
