import { oneLine, type Style } from './style.ts'

/** A column of a table. */
export type Column<Row> = {
  readonly title: string
  /** The text of a row's cell. It need not be safe for a terminal: the table makes it so. */
  value(row: Row): string | number | undefined
  /** Colours the safe text. */
  paint?(text: string, row: Row): string
  /** Numbers stand at the right. @default false */
  readonly isNumber?: boolean
  /** Whether the cells may be cut to fit a terminal. Ids are never cut. @default false */
  readonly mayShrink?: boolean
}

export type TableOptions = {
  readonly style: Style
  /** Columns of the terminal. Without it nothing is cut. */
  readonly columns?: number | undefined
  /** Continues a table: this table leaves the titles out, and its columns are at least as wide as those of the table before. */
  readonly layout?: Layout
}

/** The widths of a table's columns. The caller keeps it from one page of a table to the next. */
export type Layout = { widths: readonly number[] }

const GAP = '  '
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
      line(cells[index] ?? [], (text, at) => columns[at]?.paint?.(text, row) ?? text),
    ),
  ]
}

function cellText(value: string | number | undefined): string {
  const text = value === undefined ? '' : oneLine(String(value))
  return text === '' ? '-' : text
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

/** How many columns of a terminal a text takes. */
function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const char of text) width += COMBINING.test(char) ? 0 : WIDE.test(char) ? 2 : 1
  return width
}
