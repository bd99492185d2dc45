import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { BatonError, messageOf } from '../../shared/core/values/values.ts'
import { shellWord } from '../terminal/io.ts'

/**
 * The report of `baton publish --from`: a file of JSON lines, which the command appends to as it works. A command that was interrupted
 * continues with its report, and repeats only what has not succeeded. `readReport` says which reports can be trusted.
 */
export type Report = ReturnType<typeof reportAt>

/** The first line: what the command does, and to which system. */
type ReportHeader = {
  readonly action: 'publish'
  readonly url: string
  readonly at: string
  /** Names the run: generated keys of tasks begin with it. */
  readonly run: string
  /** Further settings, which must be the same when the command continues. */
  readonly settings: ReportSettings
}

/** Settings by their names. A setting that is not given has no entry. */
type ReportSettings = Readonly<Record<string, string | undefined>>

/** How a line ended. A later entry about the same line replaces an earlier one. */
type ReportEntry = {
  /** The number of the line. */
  readonly ref: string
  readonly ok: boolean
  readonly id?: string
  readonly digest?: string
  /** The HTTP status of a refusal; 0 when no answer came. */
  readonly status?: number
  readonly detail?: string
}

/**
 * Begins a report.
 *
 * @throws BatonError `invalid` when the file exists or cannot be written.
 */
export function createReport(path: string, header: ReportHeader): Report {
  writeLine(path, header, (file, text) => writeFileSync(file, text, { flag: 'wx' }))
  return reportAt(path, header, new Map())
}

/**
 * Reads the report of a command that is to continue.
 *
 * @throws BatonError `invalid` when the file is not a report of this action on this system with these settings, or is damaged.
 */
export function reopenReport(
  path: string,
  { action, url, settings }: Pick<ReportHeader, 'action' | 'url' | 'settings'>,
): Report {
  const { header, entries } = readReport(path)
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
  return reportAt(path, header, new Map([...last].filter(([, { ok }]) => ok)))
}

function valueText(name: string, settings: ReportSettings): string {
  return settings[name] === undefined ? `no ${name}` : `${name} ${settings[name]}`
}

function reportAt(path: string, header: ReportHeader, succeeded: ReadonlyMap<string, ReportEntry>) {
  return {
    path,
    header,
    /** The lines that have succeeded already, by their numbers. */
    succeeded,
    add: (line: ReportEntry) => writeLine(path, line, appendFileSync),
    remove: () => rmSync(path, { force: true }),
  }
}

function writeLine(path: string, line: object, by: (path: string, text: string) => void): void {
  try {
    by(path, `${JSON.stringify(line)}\n`)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST')
      throw new BatonError(
        'invalid',
        `${path} exists: give another --report, or continue it with --resume ${shellWord(path)}`,
        { cause },
      )
    throw new BatonError('invalid', `the report ${path} cannot be written: ${messageOf(cause)}`, { cause })
  }
}

/** The default name of a report in the present folder, such as `baton-publish-20261123-101500.ndjson`. */
export function reportName(now: number): string {
  const [date = '', time = ''] = new Date(now).toISOString().split('T')
  return `baton-publish-${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}.ndjson`
}

/**
 * Reads a report. A process that was killed may have left its last line incomplete: the line is removed, and what it was about is done
 * again. Any other damage is refused.
 *
 * @throws BatonError `invalid` when the file is not a report, or has a line that is not JSON.
 */
function readReport(path: string) {
  const [header, ...lines] = completeLines(path).map((text, index) => lineOf(path, text, index + 1))
  if (!isHeader(header)) throw new BatonError('invalid', `${path} is not a report of baton publish`)
  return { header, entries: lines as ReportEntry[] }
}

function isHeader(line: object | undefined): line is ReportHeader {
  return line !== undefined && 'action' in line && 'url' in line && 'settings' in line
}

/** The lines that end with a line end. The rest after the last of them is cut off the file, so that the next line begins at the start of a line. */
function completeLines(path: string): string[] {
  try {
    const text = readFileSync(path, 'utf8')
    const complete = text.slice(0, text.lastIndexOf('\n') + 1)
    if (complete !== '' && complete !== text) truncateSync(path, Buffer.byteLength(complete))
    return complete.split('\n').slice(0, -1)
  } catch (cause) {
    throw new BatonError('invalid', `the report ${path} cannot be read: ${messageOf(cause)}`, { cause })
  }
}

/** If the first line is not JSON, the file is not a report. If a later line is not JSON, the report is damaged. */
function lineOf(path: string, text: string, number: number): object | undefined {
  const line = parsed(text)
  if (line || number === 1) return line
  throw new BatonError('invalid', `line ${number} of ${path} is not a line of a report: the file is damaged`)
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
