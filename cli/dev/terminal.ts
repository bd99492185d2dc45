import { readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import type { BundleSpec } from '../../infra/bundling/esbuild.ts'
import { CLOUD_SOURCE, type LogLine } from '../../local/log.ts'
import type { DevOptions } from './command/dev-command.ts'
import type { DeployedType, System } from './synthesis/systems.ts'

/** What `baton dev` prints. */
export type Terminal = {
  say(text: string): void
  /** Prints a line of a function or service, if it is shown. `label` names its stack when several run. */
  line(line: LogLine, isOwn: (source: string) => boolean, label?: string): void
  /** Changes which lines are shown. */
  show(shown: Shown): void
}

export function createTerminal({ verbose }: Pick<DevOptions, 'verbose'>, first: Shown = 'runs'): Terminal {
  let shown = verbose ? 'everything' : first
  // The present line may show a progress bar.
  const say = (text: string) => console.log(process.stdout.isTTY ? `\r\x1b[K${text}` : text)
  return {
    say,
    line: (line, isOwn, label) => {
      const text = terminalLine(line, { shown, isOwn })
      if (text !== undefined) say(label === undefined ? text : `[${label}] ${text}`)
    },
    show: next => {
      if (!verbose) shown = next
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
  const run = runLine(logged)
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

/**
 * `✗ resize:img-1 failed after 31 ms (attempt 2): TypeError: fetch failed ← Error: connect ECONNREFUSED …; next try in 4 s`, with
 * the time before it.
 */
function runLine(line: LoggedFields): { readonly text: string; readonly isFailure: boolean } | undefined {
  const { message = '', taskId, attempt = 1, ms, error } = line
  const end = RUN_ENDS[message]
  if (!end || taskId === undefined) return undefined
  const isFailure = end.mark === '✗'
  const said = [
    timeText(line.timestamp),
    end.mark,
    taskId,
    end.verb,
    ...(ms === undefined ? [] : [`after ${durationText(ms)}`]),
    ...(isFailure || attempt > 1 ? [`(attempt ${attempt})`] : []),
  ].join(' ')
  return { text: isFailure ? `${said}: ${errorText(error)}; ${nextTryText(line)}` : said, isFailure }
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

/** What a developer needs to know of a system that has just started: its address, its types, and how a worker joins it. */
export function summaryOf(system: System, apiUrl: string, folder: string, hasDashboard = false): string {
  const files = new Map(system.handlers.flatMap(({ bundle }) => [...handlerFiles(bundle, folder)]))
  const width =
    Math.max(
      ...system.types.map(({ type }) => type.length),
      ...(hasDashboard ? ['dashboard'.length] : []),
      'HTTP API'.length,
    ) + 2
  const row = (name: string, text: string) => `  ${name.padEnd(width)}${text}`
  const types = system.types.toSorted((a, b) => a.type.localeCompare(b.type))
  return [
    ...(hasDashboard ? [row('dashboard', `${apiUrl}/`)] : []),
    row('HTTP API', `${apiUrl}  (OpenAPI: ${apiUrl}/v1/openapi.json)`),
    ...(hasDashboard ? [row('reference', `${apiUrl}/docs`)] : []),
    ...types.map(one => row(one.type, serverOf(one, files))),
    `A worker of your own joins with: npx baton worker FILE --url ${apiUrl}`,
  ].join('\n')
}

function serverOf({ type, kind, servedBy, configuration }: DeployedType, files: ReadonlyMap<string, string>) {
  if (kind === 'flow') return `flow: ${stepsIn(configuration).join(' → ')}`
  if (servedBy === 'workers') return 'served by workers'
  return files.get(type) ?? (kind === 'webhook' ? 'calls a URL' : 'served by a function')
}

/** An import of a definition in a generated entry. Other imports rename nothing. */
const DEFINITION = /^import \{ \w+ as \w+ \} from ("[^"]+")/gm

/** The file of each type that a function serves, relative to the project. */
function handlerFiles({ entry, types }: BundleSpec, folder: string): Map<string, string> {
  const paths = [...readIfThere(entry).matchAll(DEFINITION)].map(([, path = '""']) =>
    relative(folder, resolve(dirname(entry), JSON.parse(path) as string)),
  )
  const fileOf = (index: number) => (paths.length === types.length ? paths[index] : paths.join(', '))
  return new Map(types.map((type, index) => [type, fileOf(index) ?? '']))
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function stepsIn(configuration: string): string[] {
  const { steps = [] } = JSON.parse(configuration) as {
    readonly steps?: ReadonlyArray<{ readonly name: string }>
  }
  return steps.map(({ name }) => name)
}

/** What a deployment changes, in words: `type thumbnail is new; type resize has changed`. */
export function changesBetween(before: System, after: System): string {
  const [old, fresh] = [before, after].map(({ types }) => new Map(types.map(one => [one.type, one])))
  if (!old || !fresh) return ''
  const added = [...fresh.keys()].filter(type => !old.has(type))
  const removed = [...old.keys()].filter(type => !fresh.has(type))
  const changed = [...fresh.values()].filter(one => isChanged(old.get(one.type), one)).map(({ type }) => type)
  const parts = [clause(added, 'new'), clause(changed, 'changed'), clause(removed, 'removed')]
  return parts.filter(part => part !== '').join('; ') || 'resources changed'
}

function isChanged(before: DeployedType | undefined, after: DeployedType): boolean {
  return before !== undefined && JSON.stringify(before) !== JSON.stringify(after)
}

function clause(types: readonly string[], word: string): string {
  return types.length === 0 ? '' : `${word}: ${types.join(', ')}`
}
