import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { BatonError } from '../../shared/core/errors.ts'
import { messageOf } from '../say.ts'

/**
 * The report of a long command: a file of JSON lines, which the command appends to as it goes. A command that was interrupted goes
 * on with its report, and repeats only what has not succeeded.
 */
export type Report = {
  readonly path: string
  readonly header: ReportHeader
  /** What has succeeded already, by its reference. */
  readonly succeeded: ReadonlySet<string>
  /** Everything that the command is to do, as far as the report says it. */
  readonly selected: readonly string[]
  select(refs: readonly string[]): void
  add(entry: ReportEntry): void
}

/** The first line: what the command does, and to which system. */
export type ReportHeader = {
  /** The command and what it is about, such as `remove`. */
  readonly action: string
  readonly url: string
  readonly at: string
  /** Names the run: generated keys of tasks begin with it. */
  readonly run: string
  /** Further settings, which must be the same when the command goes on. */
  readonly settings: Readonly<Record<string, string>>
}

/** How one piece ended. A later line about the same piece replaces an earlier one. */
type ReportEntry = {
  /** The id of a task, or the number of a line. */
  readonly ref: string
  readonly ok: boolean
  readonly id?: string
  readonly created?: boolean
  /** The HTTP status of a refusal; 0 when no answer came. */
  readonly status?: number
  readonly detail?: string
}

type Line = ReportEntry | { readonly selected: readonly string[] }

const SELECTED_IN_A_LINE = 1_000

/**
 * Begins a report.
 *
 * @throws BatonError `invalid` when the file exists or cannot be written.
 */
export function createReport(path: string, header: ReportHeader): Report {
  if (existsSync(path)) {
    throw new BatonError(
      'invalid',
      `${path} exists: give another --report, or go on with it by --resume ${path}`,
    )
  }
  write(path, header, writeFileSync)
  return reportAt(path, header, [])
}

/**
 * Reads the report of a command that is to go on.
 *
 * @throws BatonError `invalid` when the file is no report of this action on this system.
 */
export function reopenReport(
  path: string,
  { action, url, settings }: Omit<ReportHeader, 'at' | 'run'>,
): Report {
  const [header, ...lines] = linesIn(path)
  if (!isHeader(header)) throw new BatonError('invalid', `${path} is no report of baton ${action}`)
  const wanted = { action, url, ...settings }
  const found: Readonly<Record<string, string>> = {
    action: header.action,
    url: header.url,
    ...header.settings,
  }
  for (const [name, value] of Object.entries(wanted)) {
    if (found[name] === value) continue
    throw new BatonError('invalid', `${path} is about ${name} ${found[name] ?? '-'}, not ${value}`)
  }
  return reportAt(path, header, lines as Line[])
}

function reportAt(path: string, header: ReportHeader, lines: readonly Line[]): Report {
  const entries = lines.filter(line => 'ref' in line)
  const last = new Map(entries.map(entry => [entry.ref, entry]))
  const selected = lines.flatMap(line => ('selected' in line ? line.selected : []))
  return {
    path,
    header,
    succeeded: new Set([...last.values()].filter(({ ok }) => ok).map(({ ref }) => ref)),
    selected,
    select: refs => {
      for (let at = 0; at < refs.length; at += SELECTED_IN_A_LINE)
        write(path, { selected: refs.slice(at, at + SELECTED_IN_A_LINE) }, appendFileSync)
      selected.push(...refs)
    },
    add: entry => write(path, entry, appendFileSync),
  }
}

function write(path: string, line: object, by: typeof appendFileSync): void {
  try {
    by(path, `${JSON.stringify(line)}\n`)
  } catch (cause) {
    throw new BatonError('invalid', `the report ${path} cannot be written: ${messageOf(cause)}`, { cause })
  }
}

/** The lines of a report. A process that was killed may have left the last one incomplete. */
function linesIn(path: string): unknown[] {
  try {
    return readFileSync(path, 'utf8').split('\n').flatMap(parsed)
  } catch (cause) {
    throw new BatonError('invalid', `the report ${path} cannot be read: ${messageOf(cause)}`, { cause })
  }
}

function parsed(line: string): unknown[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}

function isHeader(line: unknown): line is ReportHeader {
  return typeof line === 'object' && line !== null && 'action' in line && 'url' in line && 'settings' in line
}

/** The default name of a report in the present folder, such as `baton-remove-20261123-101500.ndjson`. */
export function reportName(action: string, now: number): string {
  const [date = '', time = ''] = new Date(now).toISOString().split('T')
  return `baton-${action}-${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}.ndjson`
}
