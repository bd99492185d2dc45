import type { Io } from './io.ts'
import { createStyle, oneLine, type Style, safeJson, safeLines, wantsColours } from './style.ts'
import { type Column, type Layout, tableLines } from './table.ts'

/** Prints what a command has found: text for people, or JSON when the user asked for it. */
export type Printer = {
  /** Whether `--json` was given. Then standard output has JSON only. */
  readonly isJson: boolean
  /** The colours of standard output. */
  readonly style: Style
  /** The present time, to which shown times relate. */
  now(): number
  /** Prints a line for people. Its texts must be safe. */
  line(text?: string): void
  /** Prints a table for people. A `layout` continues the table that was printed with it before. */
  table<Row>(columns: ReadonlyArray<Column<Row>>, rows: readonly Row[], layout?: Layout): void
  /** Prints a value as one JSON document, on several lines. */
  document(value: unknown): void
  /** Prints a value as a line of JSON: one of many. */
  record(value: unknown): void
  /** Prints a line beside the output, on standard error. With JSON it is left out. */
  note(text: string): void
  /** Prints a warning on standard error, also beside JSON. */
  warn(text: string): void
}

export type PrinterOptions = { readonly json?: boolean; readonly color?: boolean }

export function createPrinter(io: Io, { json = false, color = true }: PrinterOptions): Printer {
  const { out, err } = io
  const style = createStyle(wantsColours(out, io.env, color))
  const noteStyle = createStyle(wantsColours(err, io.env, color))
  const printLine = (text: string) => out.write(`${text}\n`)
  const sayLine = (text: string) => err.write(`${text}\n`)
  return {
    isJson: json,
    style,
    now: io.now,
    line: (text = '') => printLine(text),
    table: (columns, rows, layout) => {
      const options = { style, columns: out.columns, ...(layout && { layout }) }
      for (const text of tableLines(columns, rows, options)) printLine(text)
    },
    document: value => printLine(safeJson(value, 2)),
    record: value => printLine(safeJson(value)),
    note: text => {
      if (!json) sayLine(noteStyle.dim(oneLine(text)))
    },
    warn: text => {
      for (const line of safeLines(text)) sayLine(noteStyle.yellow(line))
    },
  }
}
