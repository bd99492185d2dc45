import { duration, number } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { Chart, type Series } from './chart.tsx'
import type { Slot } from './series.ts'

type Drawing = {
  readonly title: string
  /** What the chart shows, in words. */
  readonly label: string
  readonly kind: 'bars' | 'line'
  readonly format?: (value: number) => string
}

/** A chart of minutes in a card of its own. */
function minuteChart(
  slots: readonly Slot[],
  { title, label, kind, format = countText }: Drawing,
  series: readonly Series[],
) {
  return (
    <Card title={title}>
      <Chart label={label} kind={kind} times={slots.map(({ at }) => at)} format={format} series={series} />
    </Card>
  )
}

function countText(value: number): string {
  return number(Math.round(value))
}

type Of = { readonly slots: readonly Slot[] }

/** Done and failed tasks per minute. */
export function ThroughputChart({ slots }: Of) {
  return minuteChart(
    slots,
    { title: 'Ended per minute', label: 'Tasks that ended in each minute', kind: 'bars' },
    [
      { name: 'succeeded', tone: 'good', values: slots.map(({ succeeded }) => succeeded) },
      { name: 'failed', tone: 'bad', values: slots.map(({ failed }) => failed) },
      { name: 'cancelled', tone: 'idle', values: slots.map(({ cancelled }) => cancelled) },
    ],
  )
}

/** How late runs started. */
export function LatenessChart({ slots }: Of) {
  return minuteChart(
    slots,
    { title: 'Lateness', label: 'How long after their time runs started', kind: 'line', format: duration },
    [{ name: '95 % of starts within', tone: 'busy', values: slots.map(({ lateMs }) => lateMs) }],
  )
}

/** Published tasks per minute. */
export function PublishedChart({ slots }: Of) {
  return minuteChart(
    slots,
    { title: 'Published per minute', label: 'Tasks that were published in each minute', kind: 'bars' },
    [{ name: 'published', tone: 'busy', values: slots.map(({ published }) => published) }],
  )
}

/** How many tasks were open. */
export function BacklogChart({ slots, open }: Of & { readonly open: readonly number[] }) {
  return minuteChart(
    slots,
    { title: 'Open tasks', label: 'Tasks that were open after each minute', kind: 'line' },
    [{ name: 'open', tone: 'wait', values: open }],
  )
}
