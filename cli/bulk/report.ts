import { appendFileSync, writeFileSync } from 'node:fs'
import { BatonError, messageOf } from '../../shared/core/errors.ts'
import { shellWord } from '../say.ts'
import { readReport } from './read-report.ts'

/**
 * The report of a long command: a file of JSON lines, which the command appends to as it goes. A command that was interrupted goes
 * on with its report, and repeats only what has not succeeded. `read-report.ts` says which reports can be trusted.
 */
export type Report = {
  readonly path: string
  readonly header: ReportHeader
  /** How what has succeeded already did, by its reference. */
  readonly succeeded: ReadonlyMap<string, ReportEntry>
  /** Everything that the command is to do; empty for a command that reads it from elsewhere. */
  readonly selected: readonly Selected[]
  /** Writes what the command is to do, whole, before anything is done. */
  select(tasks: readonly Selected[]): void
  add(entry: ReportEntry): void
}

/** A task that a command is to act on, as it was when it was selected. */
export type Selected = {
  readonly id: string
  /** Counts changes by people: a task that was changed meanwhile is left alone. */
  readonly revision: number
}

/** The first line: what the command does, and to which system. */
export type ReportHeader = {
  /** The command and what it is about, such as `remove`. */
  readonly action: string
  readonly url: string
  readonly at: string
  /** Names the run: generated keys of tasks begin with it. */
  readonly run: string
  /** Whether the report says what is to be done. Otherwise the command reads it from elsewhere, such as a file of inputs. */
  readonly selects: boolean
  /** Further settings, which must be the same when the command goes on. */
  readonly settings: ReportSettings
}

/** Settings by their names. A setting that is not given has no entry. */
export type ReportSettings = Readonly<Record<string, string | undefined>>

/** How one piece ended. A later line about the same piece replaces an earlier one. */
export type ReportEntry = {
  /** The id of a task, or the number of a line. */
  readonly ref: string
  readonly ok: boolean
  readonly id?: string
  /** A digest of the line's input. */
  readonly digest?: string
  /** The HTTP status of a refusal; 0 when no answer came. */
  readonly status?: number
  readonly detail?: string
}

const SELECTED_IN_A_LINE = 1_000

/**
 * Begins a report.
 *
 * @throws BatonError `invalid` when the file exists or cannot be written.
 */
export function createReport(path: string, header: ReportHeader): Report {
  write(path, header, (file, text) => writeFileSync(file, text, { flag: 'wx' }))
  return reportAt(path, header, new Map(), [])
}

/**
 * Reads the report of a command that is to go on.
 *
 * @throws BatonError `invalid` when the file is no report of this action on this system with these settings, or is damaged.
 */
export function reopenReport(
  path: string,
  { action, url, settings }: Pick<ReportHeader, 'action' | 'url' | 'settings'>,
): Report {
  const { header, entries, selected } = readReport(path, action)
  const wanted: ReportSettings = { action, url, ...settings }
  const found: ReportSettings = { action: header.action, url: header.url, ...header.settings }
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(found)])) {
    if (found[name] === wanted[name]) continue
    throw new BatonError(
      'invalid',
      `${path} is about ${valueText(name, found)}, not ${valueText(name, wanted)}`,
    )
  }
  const last = new Map(entries.map(entry => [entry.ref, entry]))
  return reportAt(path, header, new Map([...last].filter(([, { ok }]) => ok)), selected)
}

function valueText(name: string, settings: ReportSettings): string {
  return settings[name] === undefined ? `no ${name}` : `${name} ${settings[name]}`
}

function reportAt(
  path: string,
  header: ReportHeader,
  succeeded: ReadonlyMap<string, ReportEntry>,
  earlier: readonly Selected[],
): Report {
  const selected = [...earlier]
  const append = (line: object) => write(path, line, appendFileSync)
  return {
    path,
    header,
    succeeded,
    selected,
    select: tasks => {
      for (let at = 0; at < tasks.length; at += SELECTED_IN_A_LINE)
        append({ selected: tasks.slice(at, at + SELECTED_IN_A_LINE) })
      append({ selectedInAll: tasks.length })
      selected.push(...tasks)
    },
    add: append,
  }
}

function write(path: string, line: object, by: (path: string, text: string) => void): void {
  try {
    by(path, `${JSON.stringify(line)}\n`)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST')
      throw new BatonError(
        'invalid',
        `${path} exists: give another --report, or go on with it by --resume ${shellWord(path)}`,
        { cause },
      )
    throw new BatonError('invalid', `the report ${path} cannot be written: ${messageOf(cause)}`, { cause })
  }
}

/** The default name of a report in the present folder, such as `baton-remove-20261123-101500.ndjson`. */
export function reportName(action: string, now: number): string {
  const [date = '', time = ''] = new Date(now).toISOString().split('T')
  return `baton-${action}-${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}.ndjson`
}
