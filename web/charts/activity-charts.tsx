import { duration, number } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { Chart } from './chart.tsx'
import type { Slot } from './series.ts'

const countText = (value: number) => number(Math.round(value))

/** Done and failed tasks per minute. */
export function ThroughputChart({ slots }: { readonly slots: readonly Slot[] }) {
  return (
    <Card title="Ended per minute">
      <Chart
        label="Tasks that ended in each minute"
        kind="bars"
        times={slots.map(({ at }) => at)}
        format={countText}
        series={[
          { name: 'succeeded', tone: 'good', values: slots.map(({ succeeded }) => succeeded) },
          { name: 'failed', tone: 'bad', values: slots.map(({ failed }) => failed) },
          { name: 'cancelled', tone: 'idle', values: slots.map(({ cancelled }) => cancelled) },
        ]}
      />
    </Card>
  )
}

/** How late runs started. */
export function LatenessChart({ slots }: { readonly slots: readonly Slot[] }) {
  return (
    <Card title="Lateness">
      <Chart
        label="How long after their time runs started"
        kind="line"
        times={slots.map(({ at }) => at)}
        format={duration}
        series={[{ name: '95 % of starts within', tone: 'busy', values: slots.map(({ lateMs }) => lateMs) }]}
      />
    </Card>
  )
}

/** Published tasks per minute. */
export function PublishedChart({ slots }: { readonly slots: readonly Slot[] }) {
  return (
    <Card title="Published per minute">
      <Chart
        label="Tasks that were published in each minute"
        kind="bars"
        times={slots.map(({ at }) => at)}
        format={countText}
        series={[{ name: 'published', tone: 'busy', values: slots.map(({ published }) => published) }]}
      />
    </Card>
  )
}

/** How many tasks were open. */
export function BacklogChart({
  slots,
  open,
}: {
  readonly slots: readonly Slot[]
  readonly open: readonly number[]
}) {
  return (
    <Card title="Open tasks">
      <Chart
        label="Tasks that were open after each minute"
        kind="line"
        times={slots.map(({ at }) => at)}
        format={countText}
        series={[{ name: 'open', tone: 'wait', values: open }]}
      />
    </Card>
  )
}
