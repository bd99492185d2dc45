/** A row of the table: a figure and its control. The same run measures both on the same machine. */
export type Row = {
  readonly name: string
  readonly value: number
  /** The unit of both figures and of the bound. @default 'ms' */
  readonly unit?: 'ms' | 'MB' | 'KB' | 'points'
  readonly control: { readonly name: string; readonly value: number }
  /** What must hold: the largest value, or the largest ratio of value and control. */
  readonly bound?: { readonly of: 'value' | 'ratio'; readonly max: number }
}

const COLUMNS = ['what', 'measured', 'control', 'measured', 'ratio', 'must hold'] as const

/** The table of `npm run bench`, as Markdown. Its bounds hold for a machine that does nothing else. */
export function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ name, value, control, bound, unit = 'ms' }) => {
    const inUnit = unit === 'ms' ? inMs : (figure: number) => `${Math.round(figure)} ${unit}`
    const ratio = `${(value / control.value).toFixed(2)} ×`
    return [name, inUnit(value), control.name, inUnit(control.value), ratio, boundOf(bound, inUnit)]
  })
  const lines = [[...COLUMNS], COLUMNS.map(() => '---'), ...cells]
  return lines.map(line => `| ${line.join(' | ')} |`).join('\n')
}

function boundOf(bound: Row['bound'], inUnit: (value: number) => string): string {
  if (!bound) return '–'
  return bound.of === 'ratio' ? `≤ ${bound.max} ×` : `≤ ${inUnit(bound.max)}`
}

function inMs(value: number): string {
  return value >= 1_000 ? `${(value / 1_000).toFixed(2)} s` : `${value.toFixed(1)} ms`
}

/** The value that this share of the values does not exceed. A share of 1 gives the largest value. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
