import type { Io, OutputStream } from './io.ts'
import { createStyle, oneLine, type Style, safeJson, safeLines, wantsColours } from './style.ts'

/** Prints what a command has found: text for people, or JSON when the user asked for it. */
export type Printer = ReturnType<typeof createPrinter>

type PrinterOptions = { readonly json?: boolean; readonly color?: boolean }

export function createPrinter(io: Io, { json = false, color = true }: PrinterOptions) {
  const { out, err } = io
  const style = createStyle(wantsColours(out, io.env, color))
  const noteStyle = createStyle(wantsColours(err, io.env, color))
  const printLine = (text: string) => out.write(`${text}\n`)
  const document = (value: unknown) => printLine(safeJson(value, 2))
  const record = (value: unknown) => printLine(safeJson(value))
  const sayLine = (text: string) => err.write(`${text}\n`)
  return {
    /** Whether `--json` was given. Then standard output has JSON only. */
    isJson: json,
    style,
    now: io.now,
    /** Prints a line for people. Its texts must be safe. */
    line: (text = '') => printLine(text),
    /** Prints a table for people, or a line of JSON for each row. A `layout` continues the table that was printed with it before. */
    table: <Row>(columns: ReadonlyArray<Column<Row>>, rows: readonly Row[], layout?: Layout) => {
      const options = { style, columns: out.columns, ...(layout && { layout }) }
      if (json) rows.forEach(record)
      else if (rows.length > 0) tableLines(columns, rows, options).forEach(printLine)
    },
    /** Prints what a call has answered: as one JSON document, or in these lines for people. Their texts must be safe. */
    answer: (value: unknown, ...lines: readonly string[]) =>
      json ? document(value) : lines.forEach(printLine),
    /** Prints a value as one JSON document, on several lines. */
    document,
    /** Prints a value as a line of JSON: one of many. */
    record,
    /** Prints a line on standard error, outside of the output. With JSON it is left out. */
    note: (text: string) => {
      if (!json) sayLine(noteStyle.dim(oneLine(text)))
    },
    /** Prints a warning on standard error, also when the output is JSON. */
    warn: (text: string) => {
      for (const line of safeLines(text)) sayLine(noteStyle.yellow(line))
    },
  }
}

/** A column of a table. */
export type Column<Row> = {
  readonly title: string
  /** The text of a row's cell. It need not be safe for a terminal: the table makes it so. */
  value(row: Row): string | number | undefined
  /** Colours the safe text of a cell that is not empty. */
  paint?(text: string, row: Row): string
  /** Numbers are aligned to the right. @default false */
  readonly isNumber?: boolean
  /** Whether the cells may be cut to fit a terminal. Ids are never cut. @default false */
  readonly mayShrink?: boolean
}

type TableOptions = {
  readonly style: Style
  readonly columns?: number | undefined
  /** Continues a table: this table leaves the titles out, and its columns are at least as wide as in the table before. */
  readonly layout?: Layout
}

/** The widths of a table's columns. The caller keeps it from one page of a table to the next. */
export type Layout = { widths: readonly number[] }

const GAP = '  '
const EMPTY = '-'
/** A cell that may be cut keeps at least this many columns. */
const SHRUNK_WIDTH_MIN = 12

/** Returns the lines of a table: a line of titles and one for each row. An empty cell has a dash. */
export function tableLines<Row>(
  columns: ReadonlyArray<Column<Row>>,
  rows: readonly Row[],
  { style, columns: available, layout = { widths: [] } }: TableOptions,
): string[] {
  const cells = rows.map(row => columns.map(column => cellText(column.value(row))))
  const isFirst = layout.widths.length === 0
  const widths = shrunk(columns, widthsOf(columns, cells, layout.widths), available)
  layout.widths = widths
  const line = (texts: readonly string[], paint: (text: string, at: number) => string) =>
    texts
      .map((text, at) => fitted(text, widths[at] ?? 0, columns[at]?.isNumber, value => paint(value, at)))
      .join(GAP)
      .trimEnd()
  const titles = columns.map(({ title }) => title)
  return [
    ...(isFirst ? [line(titles, style.dim)] : []),
    ...rows.map((row, index) =>
      line(cells[index] ?? [], (text, at) =>
        text === EMPTY ? text : (columns[at]?.paint?.(text, row) ?? text),
      ),
    ),
  ]
}

function cellText(value: string | number | undefined): string {
  const text = value === undefined ? '' : oneLine(String(value))
  return text === '' ? EMPTY : text
}

function widthsOf<Row>(
  columns: ReadonlyArray<Column<Row>>,
  cells: ReadonlyArray<readonly string[]>,
  earlier: readonly number[],
): number[] {
  return columns.map(({ title }, at) =>
    cells.reduce((width, row) => Math.max(width, textWidth(row[at] ?? '')), earlier[at] ?? title.length),
  )
}

/** Takes what is too wide for the terminal from the columns that may shrink, from the last one on. */
function shrunk<Row>(
  columns: ReadonlyArray<Column<Row>>,
  widths: readonly number[],
  available: number | undefined,
): number[] {
  const total = widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1))
  let excess = available === undefined ? 0 : total - available
  return widths
    .toReversed()
    .map((width, fromEnd) => {
      const mayShrink = columns[columns.length - 1 - fromEnd]?.mayShrink ?? false
      const taken = mayShrink ? Math.max(0, Math.min(excess, width - SHRUNK_WIDTH_MIN)) : 0
      excess -= taken
      return width - taken
    })
    .toReversed()
}

function fitted(text: string, width: number, isNumber = false, paint: (text: string) => string): string {
  const shown = textWidth(text) > width ? cutTo(text, width) : text
  const space = ' '.repeat(Math.max(0, width - textWidth(shown)))
  return isNumber ? space + paint(shown) : paint(shown) + space
}

function cutTo(text: string, width: number): string {
  let kept = ''
  let used = 1
  for (const char of text) {
    used += textWidth(char)
    if (used > width) break
    kept += char
  }
  return `${kept}…`
}

/** Letters of East Asian scripts and emoji take two columns. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6\p{Emoji_Presentation}]/u
const COMBINING = /[\p{Mn}\p{Me}\u200c\u200d]/u
const PLAIN = /^[\x20-\x7e]*$/

function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const char of text) width += COMBINING.test(char) ? 0 : WIDE.test(char) ? 2 : 1
  return width
}

const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'
/** Without wrapping, a long line stays on its row, so the count of rows is right. */
const NO_WRAP = '\x1b[?7l'
const WRAP = '\x1b[?7h'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'

const DEFAULT_ROWS = 24

/** A part of the terminal that is drawn again and again in the same place. */
export function createLiveView(out: OutputStream) {
  let drawn = 0
  let isOpen = false
  return {
    /** Replaces what was drawn before. Lines that are too long for the terminal are cut. */
    draw: (lines: readonly string[]) => {
      // The last row of the terminal is for the cursor: writing below it would scroll.
      const shown = lines.slice(0, Math.max(1, (out.rows ?? DEFAULT_ROWS) - 1))
      const start = isOpen ? (drawn > 0 ? `\x1b[${drawn}A` : '') : HIDE_CURSOR + NO_WRAP
      out.write(`${start}${shown.map(line => `\r${line}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`)
      drawn = shown.length
      isOpen = true
    },
    /** Leaves the last lines where they are, and the terminal as it was. */
    end: () => {
      if (isOpen) out.write(`${WRAP}${SHOW_CURSOR}`)
      isOpen = false
    },
  }
}

const SHOW_EVERY_MS = 100

/** How far a long command is, in one line of the terminal. Without a terminal nothing is shown. */
export function createProgress(err: OutputStream, now: () => number) {
  let shownAt = Number.NEGATIVE_INFINITY
  let isShown = false
  return {
    /** Shows a line in place of the last one, at most ten times a second. */
    show: (text: string) => {
      if (!err.isTTY || Math.abs(now() - shownAt) < SHOW_EVERY_MS) return
      err.write(`\r${text}\x1b[K`)
      shownAt = now()
      isShown = true
    },
    clear: () => {
      if (isShown) err.write('\r\x1b[K')
      isShown = false
    },
  }
}
