import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ApiTypeActivity } from '../../shared/api/diagnosis/load.ts'
import type { ApiType, Counts } from '../../shared/api/types.ts'
import { Sparkline } from '../charts/chart.tsx'
import { perMinute, type Slot, slotsOf } from '../charts/series.ts'
import { Button } from '../parts/button.tsx'
import { countText } from '../parts/count.tsx'
import { duration, rate } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import type { Status } from '../parts/status.tsx'
import { Name } from '../parts/text.tsx'

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
}: {
  readonly title?: string
  readonly types: readonly ApiType[]
  readonly counts: ReadonlyMap<string, Counts>
  readonly activity: Activity
}) {
  const [page, setPage] = useState(0)
  const pages = Math.ceil(types.length / PAGE_TYPES)
  const from = Math.min(page, pages - 1) * PAGE_TYPES
  const activities = new Map(activity.items.map(one => [one.type, one]))
  return (
    <Card {...(title !== undefined && { title })}>
      <div className="table-frame">
        <table>
          <thead>
            <tr>
              <th scope="col">Type</th>
              <th scope="col" className="narrow-hidden">
                Kind
              </th>
              <th scope="col" className="number">
                Waiting
              </th>
              <th scope="col" className="number">
                Running
              </th>
              <th scope="col" className="number">
                Done/min
              </th>
              <th scope="col" className="number">
                Failed/min
              </th>
              <th scope="col" className="number">
                Lateness
              </th>
              <th scope="col" className="number">
                Failed
              </th>
              <th scope="col" className="narrow-hidden">
                Last hour
              </th>
            </tr>
          </thead>
          <tbody>
            {types.slice(from, from + PAGE_TYPES).map(type => (
              <TypeRow
                key={type.type}
                type={type}
                counts={counts.get(type.type)}
                activity={activities.get(type.type)}
                slots={slotsOf([activities.get(type.type) ?? []].flat(), activity.from, activity.to)}
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

type Row = {
  readonly type: ApiType
  readonly counts: Counts | undefined
  readonly activity: ApiTypeActivity | undefined
  readonly slots: readonly Slot[]
}

function TypeRow({ type: { type, kind, paused }, counts, activity, slots }: Row) {
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
      <td className="number">
        <CountLink type={type} statuses={['ready', 'delayed']} word="waiting" count={waiting} />
      </td>
      <td className="number">
        <CountLink
          type={type}
          statuses={['running', 'compensating']}
          word="running"
          count={counts && counts.running + counts.compensating}
        />
      </td>
      <RateCell value={perMinute(slots, 'succeeded')} />
      <RateCell value={perMinute(slots, 'failed')} isBad />
      <td className="number soft">{activity?.lateness ? `≤ ${duration(activity.lateness.p95Ms)}` : '–'}</td>
      <td className="number">
        <CountLink type={type} statuses={['failed']} word="failed" count={counts?.failed} />
      </td>
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

function RateCell({ value, isBad = false }: { readonly value: number; readonly isBad?: boolean }) {
  if (value === 0) return <td className="number zero">0</td>
  return <td className={isBad ? 'number bad' : 'number'}>{rate(value)}</td>
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
