import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { ApiTypeActivity } from '../../shared/api/diagnosis/load.ts'
import type { ApiType, Counts } from '../../shared/api/types.ts'
import type { Cost } from '../api/cost-answers.ts'
import { allActivityQuery, allCountsQuery, costQuery, typesQuery } from '../api/queries.ts'
import { Sparkline } from '../charts/chart.tsx'
import { perMinute, type Slot, slotsOf } from '../charts/series.ts'
import { type Rates, ratesOfType } from '../cost/cost.ts'
import { Button } from '../parts/button.tsx'
import { duration, rate, usd } from '../parts/format.ts'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { Card, Page } from '../parts/page.tsx'
import type { Status } from '../parts/status.tsx'
import { countText, Name } from '../parts/text.tsx'
import { PublishDialog } from '../publish/publish-dialog.tsx'

/** All task types. */
export function TypesPage() {
  const types = useQuery(typesQuery)
  const counts = useQuery(allCountsQuery)
  const activity = useQuery(allActivityQuery)
  const cost = useQuery(costQuery)
  const [isPublishing, setPublishing] = useState(false)
  const failed = [types, counts, activity, cost].find(({ error, data }) => error && !data)
  const isWhole = types.data && counts.data && activity.data && cost.data !== undefined
  return (
    <Page
      title="Types"
      actions={
        <Button look="accent" onClick={() => setPublishing(true)}>
          <Plus size={15} aria-hidden /> Publish a task
        </Button>
      }
    >
      {isWhole && types.data.length === 0 && <Empty title="There are no task types yet" />}
      {isWhole && types.data.length > 0 && (
        <TypesTable
          types={types.data}
          counts={new Map(counts.data.map(one => [one.type, one.counts]))}
          activity={activity.data}
          cost={cost.data ?? undefined}
        />
      )}
      {failed && <Failure error={failed.error} onRetry={failed.refetch} />}
      {!failed && !isWhole && <Loading rows={10} />}
      {isPublishing && <PublishDialog onClose={() => setPublishing(false)} />}
    </Page>
  )
}

const PAGE_TYPES = 50

type Activity = {
  readonly from: string
  readonly to: string
  readonly items: readonly ApiTypeActivity[]
}

/** All types, page by page: how many of their tasks wait, run and have failed, and what they did in the last hour. */
export function TypesTable({
  title,
  types,
  counts,
  activity,
  cost,
}: {
  readonly title?: string
  readonly types: readonly ApiType[]
  readonly counts: ReadonlyMap<string, Counts>
  readonly activity: Activity
  /** Only the local system meters what its work would cost. */
  readonly cost: Cost | undefined
}) {
  const [page, setPage] = useState(0)
  const pages = Math.ceil(types.length / PAGE_TYPES)
  const from = Math.min(page, pages - 1) * PAGE_TYPES
  const activities = new Map(activity.items.map(one => [one.type, one]))
  return (
    <Card {...(title !== undefined && { title })}>
      <div className="table-frame">
        <table>
          <Head hasCost={cost !== undefined} />
          <tbody>
            {types.slice(from, from + PAGE_TYPES).map(type => (
              <TypeRow
                key={type.type}
                type={type}
                counts={counts.get(type.type)}
                activity={activities.get(type.type)}
                slots={slotsOf([activities.get(type.type) ?? []].flat(), activity.from, activity.to)}
                cost={cost}
              />
            ))}
          </tbody>
        </table>
      </div>
      {pages > 1 && (
        <footer className="table-foot">
          <span>
            {from + 1}–{Math.min(types.length, from + PAGE_TYPES)} of {types.length} types
          </span>
          <span className="cell-actions">
            <Button disabled={from === 0} onClick={() => setPage(page - 1)}>
              Back
            </Button>
            <Button disabled={from + PAGE_TYPES >= types.length} onClick={() => setPage(page + 1)}>
              Next
            </Button>
          </span>
        </footer>
      )}
    </Card>
  )
}

function Head({ hasCost }: { readonly hasCost: boolean }) {
  const names = ['Waiting', 'Running', 'Done/min', 'Failed/min', 'Lateness', 'Failed']
  return (
    <thead>
      <tr>
        <th scope="col">Type</th>
        <th scope="col" className="narrow-hidden">
          Kind
        </th>
        {names.map(name => (
          <th key={name} scope="col" className="number">
            {name}
          </th>
        ))}
        {hasCost && (
          <th scope="col" className="number" title={COST}>
            Per million
          </th>
        )}
        {hasCost && (
          <th scope="col" className="number" title={COST}>
            A day
          </th>
        )}
        <th scope="col" className="narrow-hidden">
          Last hour
        </th>
      </tr>
    </thead>
  )
}

const COST =
  "What tasks of this type would cost on AWS, as the local system meters them: a million like those that ended in the last hour, and a day at the pace of that hour. List prices of us-east-1 without free tiers, without what is the system's own."

type Row = {
  readonly type: ApiType
  readonly counts: Counts | undefined
  readonly activity: ApiTypeActivity | undefined
  readonly slots: readonly Slot[]
  readonly cost: Cost | undefined
}

function TypeRow({ type: { type, kind, paused }, counts, activity, slots, cost }: Row) {
  const waiting = counts && counts.ready + counts.delayed
  return (
    <tr>
      <td>
        <span className="cell-name">
          <Link to="/types/$type" params={{ type }} className="cut">
            <Name mono={false}>{type}</Name>
          </Link>
          {paused && <span className="tag warn">paused</span>}
        </span>
      </td>
      <td className="soft narrow-hidden">{kind}</td>
      <td className="number" data-label="Waiting">
        <CountLink type={type} statuses={['ready', 'delayed']} word="waiting" count={waiting} />
      </td>
      <td className="number" data-label="Running">
        <CountLink
          type={type}
          statuses={['running', 'compensating']}
          word="running"
          count={counts && counts.running + counts.compensating}
        />
      </td>
      <RateCell label="Done/min" value={perMinute(slots, 'succeeded')} />
      <RateCell label="Failed/min" value={perMinute(slots, 'failed')} isBad />
      <td className="number soft" data-label="Lateness">
        {activity?.lateness ? `≤ ${duration(activity.lateness.p95Ms)}` : '–'}
      </td>
      <td className="number" data-label="Failed">
        <CountLink type={type} statuses={['failed']} word="failed" count={counts?.failed} />
      </td>
      {cost && <CostCells rates={ratesOfType(cost, type, slots)} />}
      <td className="narrow-hidden">
        <Sparkline
          label={`Tasks of ${type} that ended in each minute of the last hour`}
          series={[
            { name: 'succeeded', tone: 'good', values: slots.map(({ succeeded }) => succeeded) },
            { name: 'failed', tone: 'bad', values: slots.map(({ failed }) => failed) },
          ]}
        />
      </td>
    </tr>
  )
}

function CostCells({ rates }: { readonly rates: Rates | undefined }) {
  return (
    <>
      <td className="number soft" data-label="Per million">
        {rates?.perMillion === undefined ? '–' : usd(rates.perMillion)}
      </td>
      <td className="number soft" data-label="A day">
        {rates ? usd(rates.perDay) : '–'}
      </td>
    </>
  )
}

function RateCell({
  label,
  value,
  isBad = false,
}: {
  readonly label: string
  readonly value: number
  readonly isBad?: boolean
}) {
  const look = value === 0 ? 'number zero' : isBad ? 'number bad' : 'number'
  return (
    <td className={look} data-label={label}>
      {value === 0 ? '0' : rate(value)}
    </td>
  )
}

function CountLink({
  type,
  statuses,
  word,
  count,
}: {
  readonly type: string
  readonly statuses: readonly Status[]
  readonly word: string
  readonly count: number | undefined
}) {
  if (count === undefined || count === 0)
    return <span className="zero">{count === undefined ? '–' : '0'}</span>
  const text = countText(count)
  return (
    <Link
      to="/tasks"
      search={{ type: [type], status: statuses }}
      aria-label={`${text} ${word} tasks of ${type}`}
    >
      {text}
    </Link>
  )
}
