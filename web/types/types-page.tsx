import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ActivityPage, TypeCounts } from '../../shared/api/diagnosis/statistics.ts'
import type { ApiType, Counts } from '../../shared/api/types.ts'
import type { Cost } from '../api/cost-answers.ts'
import { allActivityQuery, allCountsQuery, costQuery, typesQuery } from '../api/queries.ts'
import { Sparkline, seriesOf } from '../charts/chart.tsx'
import { perMinute, type Slot, slotsOf } from '../charts/series.ts'
import { ratesOfType } from '../cost/cost.ts'
import { countText, duration, rate, type Status, usd } from '../parts/format.ts'
import { Answer, Card, combined, Empty, Page } from '../parts/page.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { TypeLink } from '../parts/text.tsx'
import { PublishButton } from '../publish/publish-dialog.tsx'

export function TypesPage() {
  return (
    <Page title="Types" actions={<PublishButton />}>
      <Answer of={combined(useWork())} rows={10}>
        {work => <TypesTable {...work} />}
      </Answer>
    </Page>
  )
}

export function useWork() {
  return {
    types: useQuery(typesQuery),
    counts: useQuery(allCountsQuery),
    activity: useQuery(allActivityQuery),
    cost: useQuery(costQuery),
  }
}

type TypesTableProps = {
  readonly title?: string
  readonly types: readonly ApiType[]
  /** Undefined while they are not known. */
  readonly counts: readonly TypeCounts[] | undefined
  readonly activity: Pick<ActivityPage, 'from' | 'to' | 'items'>
  /** Only the local system meters what its work would cost. */
  readonly cost: Cost | null
}

/** All types: how many of their tasks wait, run and have failed, and what they did in the last hour. */
export function TypesTable({ title, types, counts = [], activity, cost }: TypesTableProps) {
  const countsOf = new Map(counts.map(one => [one.type, one.counts]))
  const activities = new Map(activity.items.map(one => [one.type, one]))
  const rows = types.map(({ type, kind, paused }): Row => {
    const ofType = activities.get(type)
    const slots = slotsOf(ofType ? [ofType] : [], activity.from, activity.to)
    return { type, kind, paused, counts: countsOf.get(type), lateMs: ofType?.lateness?.p95Ms, slots, cost }
  })
  const columns = [...WORK_COLUMNS, ...(cost ? COST_COLUMNS : []), HOUR_COLUMN]
  return (
    <Card {...(title !== undefined && { title })}>
      <Table
        columns={columns}
        rows={rows.sort(byUrgency)}
        keyOf={({ type }) => type}
        empty={<Empty title="There are no task types yet" />}
        noun="types"
      />
    </Card>
  )
}

type Row = Pick<ApiType, 'type' | 'kind' | 'paused'> & {
  readonly counts: Counts | undefined
  readonly lateMs: number | undefined
  readonly slots: readonly Slot[]
  readonly cost: Cost | null
}

const LATE_MS = 60_000

/** Failures of the last hour come first, then lateness, the backlog, pauses, activity, and names. */
function byUrgency(a: Row, b: Row): number {
  const [ofA, ofB] = [urgencyOf(a), urgencyOf(b)]
  const at = ofA.findIndex((value, index) => value !== ofB[index])
  return at < 0 ? a.type.localeCompare(b.type) : (ofB[at] ?? 0) - (ofA[at] ?? 0)
}

function urgencyOf({ slots, lateMs = 0, counts, paused }: Row): readonly number[] {
  const inHour = (kind: 'failed' | 'started') => slots.reduce((sum, slot) => sum + slot[kind], 0)
  const ready = counts?.ready ?? 0
  const late = lateMs > LATE_MS && ready > 0 ? lateMs : 0
  return [inHour('failed'), late, ready, paused ? 1 : 0, inHour('started')].map(roughly)
}

/** Numbers of about the same size are equal, so that rows do not change places all the time. */
function roughly(value: number): number {
  return Math.ceil(Math.log2(1 + value))
}

const WORK_COLUMNS: ReadonlyArray<Column<Row>> = [
  {
    name: 'Type',
    sortBy: ({ type }) => type,
    look: 'type-cell',
    cell: ({ type, kind, paused }) => (
      <>
        <span className="cell-name">
          <TypeLink type={type} className="cut" />
          {paused && <span className="tag warn">paused</span>}
        </span>
        <span className="faint">{kind}</span>
      </>
    ),
  },
  countColumn('Waiting', 'ready', 'delayed'),
  countColumn('Running', 'running', 'compensating'),
  rateColumn('Done/min', 'succeeded', ''),
  rateColumn('Failed/min', 'failed', 'bad'),
  {
    name: 'Lateness',
    kind: 'number',
    look: 'soft nowrap',
    sortBy: ({ lateMs = -1 }) => lateMs,
    cell: ({ lateMs }) => (lateMs === undefined ? '–' : `≤ ${duration(lateMs)}`),
  },
  countColumn('Failed', 'failed'),
]

const COST_COLUMNS = [
  costColumn('Per million', rates => rates?.perMillion),
  costColumn('A day', rates => rates?.perDay),
]

const HOUR_COLUMN: Column<Row> = {
  name: 'Last hour',
  kind: 'narrow-hidden',
  cell: ({ type, slots }) => (
    <Sparkline
      label={`Tasks of ${type} that ended in each minute of the last hour`}
      series={seriesOf(slots, 'succeeded', 'failed')}
    />
  ),
}

function rateColumn(name: string, status: 'succeeded' | 'failed', look: string): Column<Row> {
  return {
    name,
    kind: 'number',
    sortBy: ({ slots }) => perMinute(slots, status),
    cell: ({ slots }) => {
      const value = perMinute(slots, status)
      return <span className={value === 0 ? 'zero' : look}>{rate(value)}</span>
    },
  }
}

const COST =
  "What tasks of this type would cost on AWS, as the local system meters them: a million like those that ended in the last hour, and a day at the pace of that hour. List prices of us-east-1 without free tiers, without what is the system's own."

function costColumn(
  name: string,
  usdOf: (rates: ReturnType<typeof ratesOfType>) => number | undefined,
): Column<Row> {
  const usdIn = ({ type, slots, cost }: Row) => (cost && usdOf(ratesOfType(cost, type, slots))) ?? -1
  const cell = (row: Row) => (usdIn(row) < 0 ? '–' : usd(usdIn(row)))
  return { name, kind: 'number', look: 'soft', title: COST, sortBy: usdIn, cell }
}

/** How many tasks of the type have one of these statuses. The number leads to them. */
function countColumn(name: string, ...statuses: readonly Status[]): Column<Row> {
  const countOf = ({ counts }: Row) => counts && statuses.reduce((sum, status) => sum + counts[status], 0)
  const cell = (row: Row) => {
    const { type } = row
    const count = countOf(row)
    if (!count) return <span className="zero">{count ?? '–'}</span>
    const text = countText(count)
    return (
      <Link
        to="/tasks"
        search={{ type: [type], status: statuses }}
        aria-label={`${text} ${name.toLowerCase()} tasks of ${type}`}
      >
        {text}
      </Link>
    )
  }
  return { name, kind: 'number', sortBy: row => countOf(row) ?? -1, cell }
}
