import { type ReactNode, useState } from 'react'
import { duration, number } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { MINUTE_MS, type Slot } from './series.ts'
import { clockTicksOf, stepOf, ticksOf, timeStepOf } from './ticks.ts'

/** One line or one kind of bars of a chart, with a value for each slot. Undefined: there is none. */
type Series = {
  readonly name: string
  readonly tone: string
  readonly values: ReadonlyArray<number | undefined>
}

type Props = {
  /** What the chart shows, in words: screen readers read them. */
  readonly label: string
  /** The time of each slot, in ms. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  /** `bars` are stacked in the order of the series. */
  readonly kind: 'bars' | 'line'
  readonly format: (value: number) => string
  /** Whether the values are times in milliseconds, whose axis has marks at round times. */
  readonly isTime?: boolean
}

const WIDTH = 600
const HEIGHT = 120
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const VALUE_MARKS = 3
const TIME_MARKS = 5

/** A small chart of minutes. Pointing at a minute shows its values; a table below has all of them. */
function Chart(props: Props) {
  const { label, times, series, kind, format, isTime = false } = props
  const [pointed, setPointed] = useState<number>()
  const top = Math.max(1, maxOf(series, kind))
  const step = Math.max(1, isTime ? timeStepOf(top, VALUE_MARKS) : stepOf(top, VALUE_MARKS))
  const max = Math.ceil(top / step) * step
  const last = times.length - 1
  const shown = pointed === undefined || pointed > last ? undefined : pointed
  return (
    <div className="chart">
      <p className="chart-legend">
        {series.map(({ name, tone, values }) => (
          <span key={name} data-tone={tone}>
            <span className="dot" aria-hidden /> {name}
            {shown !== undefined && ` ${valueText(values[shown], format)}`}
          </span>
        ))}
        <span className="faint chart-time">{shown !== undefined && CLOCK.format(times[shown])}</span>
      </p>
      <div className="chart-plot">
        {ticksOf(step, max, step).map(value => (
          <span key={value} className="chart-mark faint" style={{ bottom: percent(value, max) }}>
            {format(value)}
          </span>
        ))}
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${label}: ${summary(series, format)}`}
          onPointerMove={event => {
            const { left, width } = event.currentTarget.getBoundingClientRect()
            setPointed(Math.min(last, Math.floor(((event.clientX - left) / width) * times.length)))
          }}
          onPointerLeave={() => setPointed(undefined)}
        >
          {ticksOf(step, max, step).map(value => {
            const y = HEIGHT - (value / max) * HEIGHT + 0.5
            return <line key={value} className="chart-grid" x2={WIDTH} y1={y} y2={y} />
          })}
          {shown !== undefined && (
            <rect
              className="chart-pointed"
              x={(shown * WIDTH) / times.length}
              width={WIDTH / times.length}
              height={HEIGHT}
            />
          )}
          {kind === 'bars' ? <Bars series={series} max={max} /> : <Lines series={series} max={max} />}
        </svg>
      </div>
      <TimeAxis times={times} />
      <Values {...props} />
    </div>
  )
}

function TimeAxis({ times }: Pick<Props, 'times'>) {
  const [from = 0, to = from] = [times[0], times.at(-1)]
  return (
    <p className="chart-axis faint" aria-hidden>
      {clockTicksOf(from, to, TIME_MARKS).map(at => (
        <span key={at} style={{ left: percent(at - from, times.length * MINUTE_MS) }}>
          {CLOCK.format(at)}
        </span>
      ))}
    </p>
  )
}

function percent(part: number, whole: number): string {
  return `${((part / Math.max(1, whole)) * 100).toFixed(2)}%`
}

type Minute = { readonly at: number; readonly values: ReadonlyArray<number | undefined> }

/** The values of all minutes that have one, newest first. They are drawn when a reader opens them. */
function Values({ times, series, format }: Props) {
  const [isOpen, setOpen] = useState(false)
  const minutes = times.map((at, slot): Minute => ({ at, values: series.map(one => one.values[slot]) }))
  const columns: ReadonlyArray<Column<Minute>> = [
    { name: 'Minute', cell: ({ at }) => CLOCK.format(at) },
    ...series.map(({ name }, nth): Column<Minute> => {
      return { name, kind: 'number', cell: ({ values }) => valueText(values[nth], format) }
    }),
  ]
  const rows = minutes.filter(({ values }) => values.some(Boolean)).reverse()
  return (
    <details className="chart-values" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="faint">Values</summary>
      {isOpen && <Table columns={columns} rows={rows} keyOf={({ at }) => String(at)} />}
    </details>
  )
}

type Drawn = { readonly series: readonly Series[]; readonly max: number }

function Bars({ series, max }: Drawn): ReactNode {
  const count = series[0]?.values.length ?? 0
  const width = WIDTH / Math.max(1, count)
  return Array.from({ length: count }, (_, slot) => {
    let top = HEIGHT
    const x = slot * width + width * 0.12
    return series.map(({ name, tone, values }) => {
      const value = values[slot] ?? 0
      if (value === 0) return null
      const height = Math.max(1.5, (value / max) * HEIGHT)
      top -= height
      return (
        <rect
          key={`${name} ${x}`}
          data-tone={tone}
          className="chart-bar"
          x={x}
          width={width * 0.76}
          y={top}
          height={height}
        />
      )
    })
  })
}

function Lines({ series, max }: Drawn): ReactNode {
  return series.map(({ name, tone, values }) => {
    const slot = WIDTH / Math.max(1, values.length)
    const points = values.map((value, index) =>
      value === undefined
        ? undefined
        : `${(index + 0.5) * slot},${HEIGHT - (value / max) * (HEIGHT - 3) - 1}`,
    )
    const parts = partsOf(points)
    return (
      <g key={name} data-tone={tone}>
        {parts.map(part => (
          <polyline
            key={part[0]}
            className={part.length === 1 ? 'chart-line lone' : 'chart-line'}
            // A single minute between minutes without a value is drawn as a dot.
            points={(part.length === 1 ? [...part, ...part] : part).join(' ')}
          />
        ))}
      </g>
    )
  })
}

/** The runs of neighbouring points. */
function partsOf(points: ReadonlyArray<string | undefined>): string[][] {
  const parts: string[][] = [[]]
  for (const point of points) {
    if (point !== undefined) parts.at(-1)?.push(point)
    else if (parts.at(-1)?.length !== 0) parts.push([])
  }
  return parts.filter(({ length }) => length > 0)
}

/** A chart without axes, for a row of a table. */
export function Sparkline({ label, series }: { readonly label: string; readonly series: readonly Series[] }) {
  const max = maxOf(series, 'bars')
  if (max === 0) return <span className="spark-empty" title="Nothing happened in the last hour" />
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <Bars series={series} max={max} />
    </svg>
  )
}

function maxOf(series: readonly Series[], kind: Props['kind']): number {
  const slots = series[0]?.values ?? []
  const tops = slots.map((_, slot) => {
    const values = series.map(({ values }) => values[slot] ?? 0)
    return kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values)
  })
  return Math.max(0, ...tops)
}

function valueText(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? '–' : format(value)
}

function summary(series: readonly Series[], format: Props['format']): string {
  return series
    .map(({ name, values }) => `${name} at most ${format(Math.max(0, ...values.map(value => value ?? 0)))}`)
    .join(', ')
}

type MinutesProps = Pick<Props, 'label' | 'kind' | 'isTime' | 'series'> & {
  readonly title: string
  readonly slots: readonly Slot[]
}

function Minutes({ title, slots, ...chart }: MinutesProps) {
  const format = chart.isTime ? duration : (value: number) => number(Math.round(value))
  return (
    <Card title={title}>
      <Chart {...chart} times={slots.map(({ at }) => at)} format={format} />
    </Card>
  )
}

const TONES = { succeeded: 'good', failed: 'bad', cancelled: 'idle', published: 'busy' } as const

/** The values of these kinds in each slot. */
export function seriesOf(slots: readonly Slot[], ...kinds: ReadonlyArray<keyof typeof TONES>): Series[] {
  return kinds.map(name => ({ name, tone: TONES[name], values: slots.map(slot => slot[name]) }))
}

type Of = { readonly slots: readonly Slot[] }

export function ThroughputChart({ slots }: Of) {
  const series = seriesOf(slots, 'succeeded', 'failed', 'cancelled')
  const label = 'Tasks that ended in each minute'
  return <Minutes title="Ended per minute" label={label} kind="bars" slots={slots} series={series} />
}

export function LatenessChart({ slots }: Of) {
  const values = slots.map(({ lateMs }) => lateMs)
  const series = [{ name: '95 % of starts within', tone: 'busy', values }]
  const label = 'How long after their time runs started'
  return <Minutes title="Lateness" label={label} kind="line" isTime slots={slots} series={series} />
}

export function PublishedChart({ slots }: Of) {
  const series = seriesOf(slots, 'published')
  const label = 'Tasks that were published in each minute'
  return <Minutes title="Published per minute" label={label} kind="bars" slots={slots} series={series} />
}

export function BacklogChart({ slots, open }: Of & { readonly open: readonly number[] }) {
  const series = [{ name: 'open', tone: 'wait', values: open }]
  const label = 'Tasks that were open after each minute'
  return <Minutes title="Open tasks" label={label} kind="line" slots={slots} series={series} />
}
