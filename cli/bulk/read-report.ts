import { readFileSync, truncateSync } from 'node:fs'
import { BatonError, messageOf } from '../../shared/core/errors.ts'
import type { ReportEntry, ReportHeader, Selected } from './report.ts'

/** What a report says. */
type ReportContents = {
  readonly header: ReportHeader
  readonly entries: readonly ReportEntry[]
  readonly selected: readonly Selected[]
}

type Line =
  | ReportEntry
  | { readonly selected: readonly Selected[] }
  /** Ends the selection: how many tasks it has. */
  | { readonly selectedInAll: number }

/**
 * Reads a report. A process that was killed may have left its last line incomplete: the line is removed, and what it was about is done
 * again. Any other damage is refused, because the command could then act on something else than the user has confirmed.
 *
 * @throws BatonError `invalid` when the file is no report, has a line that is no JSON, or has only a part of the selection.
 */
export function readReport(path: string, action: string): ReportContents {
  const [header, ...lines] = completeLines(path).map((text, index) => lineOf(path, text, index + 1))
  if (!isHeader(header)) throw new BatonError('invalid', `${path} is no report of baton ${action}`)
  const entries = (lines as Line[]).filter(line => 'ref' in line)
  return { header, entries, selected: header.selects ? selectionIn(path, lines as Line[]) : [] }
}

function isHeader(line: object | undefined): line is ReportHeader {
  return line !== undefined && 'action' in line && 'url' in line && 'settings' in line
}

/** The lines that end with a line end. The rest after the last of them is cut off the file, so that the next line begins anew. */
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

/** A first line that is no JSON makes the file no report. Any other one makes it a damaged report. */
function lineOf(path: string, text: string, number: number): object | undefined {
  const line = parsed(text)
  if (line || number === 1) return line
  throw new BatonError('invalid', `line ${number} of ${path} is no line of a report: the file is damaged`)
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** The selection is written before anything is done. So a report without the end of its selection has done nothing. */
function selectionIn(path: string, lines: readonly Line[]): Selected[] {
  const selected = lines.flatMap(line => ('selected' in line ? line.selected : []))
  const inAll = lines.find(line => 'selectedInAll' in line)?.selectedInAll
  if (selected.length === inAll) return selected
  const of = inAll === undefined ? '' : ` of ${inAll}`
  throw new BatonError(
    'invalid',
    `${path} has only ${selected.length}${of} selected tasks, because its command ended while it wrote them: give the filter again`,
  )
}
