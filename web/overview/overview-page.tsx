import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck } from 'lucide-react'
import type { Counts } from '../../shared/api/types.ts'
import { baton } from '../api/baton.ts'
import {
  allActivityQuery,
  allCountsQuery,
  costQuery,
  schedulesQuery,
  typesQuery,
  workersQuery,
} from '../api/queries.ts'
import { LatenessChart, ThroughputChart } from '../charts/chart.tsx'
import { slotsOf } from '../charts/series.ts'
import { CostCard } from '../cost/cost-card.tsx'
import { useAction } from '../parts/action.tsx'
import { Acting, Button } from '../parts/button.tsx'
import { number } from '../parts/format.ts'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { Card, Page } from '../parts/page.tsx'
import { STATUSES, toneOf } from '../parts/status.tsx'
import { sumText } from '../parts/text.tsx'
import { TypesTable } from '../types/types-page.tsx'
import { type Attention, attentionOf } from './attention.ts'

/** The whole system on one page: what needs attention first, then every type. */
export function OverviewPage() {
  const known = {
    types: useQuery(typesQuery),
    counts: useQuery(allCountsQuery),
    activity: useQuery(allActivityQuery),
    schedules: useQuery(schedulesQuery),
    workers: useQuery(workersQuery),
    cost: useQuery(costQuery),
  }
  const failed = Object.values(known).find(({ error, data }) => error && !data)
  const { types, counts, activity, schedules, workers, cost } = known
  // Drawn piece by piece, the page would jump. What counts, schedules and workers fill has its size without them.
  const isWhole = types.data && activity.data && cost.data !== undefined
  return (
    <Page title="Overview">
      {failed && <Failure error={failed.error} onRetry={failed.refetch} />}
      {!failed && !isWhole && <Loading rows={12} />}
      {isWhole && (
        <Overview
          types={types.data}
          counts={counts.data && new Map(counts.data.map(one => [one.type, one.counts]))}
          activity={activity.data}
          schedules={schedules.data}
          workers={workers.data}
          cost={cost.data ?? undefined}
        />
      )}
    </Page>
  )
}

type NotYet<All> = { readonly [Name in keyof All]: All[Name] | undefined }

/** Only the types and their activity are known at first. */
type Known = Pick<Parameters<typeof attentionOf>[0], 'types'> &
  NotYet<Omit<Parameters<typeof attentionOf>[0], 'types'>> &
  Pick<Parameters<typeof TypesTable>[0], 'activity' | 'cost'>

function Overview({ activity, cost, types, counts, schedules, workers }: Known) {
  if (types.length === 0)
    return (
      <Empty title="There are no task types yet">
        A type appears when a handler is deployed, or when it is registered over the API.
      </Empty>
    )
  const slots = slotsOf(activity.items, activity.from, activity.to)
  return (
    <>
      <Totals counts={counts && [...counts.values()]} />
      <div className={cost ? 'watch with-cost' : 'watch'}>
        <NeedsAttention
          items={counts && schedules && workers && attentionOf({ types, counts, schedules, workers })}
        />
        <CostCard slots={slots} types={types.map(({ type }) => type)} />
      </div>
      <div className="charts">
        <ThroughputChart slots={slots} />
        <LatenessChart slots={slots} />
      </div>
      <TypesTable title="Types" types={types} counts={counts ?? new Map()} activity={activity} cost={cost} />
    </>
  )
}

function Totals({ counts }: { readonly counts: readonly Counts[] | undefined }) {
  return (
    <div className="tiles">
      {STATUSES.map(status => (
        <Link key={status} className="tile" to="/tasks" search={{ status: [status] }}>
          <span className="status soft" data-tone={toneOf(status)}>
            <span className="dot" aria-hidden />
            {status}
          </span>
          <strong>{counts ? sumText(counts.map(one => one[status])) : '–'}</strong>
        </Link>
      ))}
    </div>
  )
}

/** Its height does not depend on what it shows: a long list scrolls in it. Undefined while it is not known. */
function NeedsAttention({ items }: { readonly items: readonly Attention[] | undefined }) {
  return (
    <div className="attention">
      <Card title="Needs attention" tools={items && items.length > 1 && <AttentionCount items={items} />}>
        {items === undefined && <Loading rows={2} />}
        {items?.length === 0 && (
          <p className="all-well">
            <CircleCheck size={18} aria-hidden />
            Nothing stands still, and nothing has failed.
          </p>
        )}
        {items && items.length > 0 && (
          <ul>
            {items.map(item => (
              <li key={item.id}>
                <span className="status" data-tone={item.tone}>
                  <span className="dot" aria-hidden />
                </span>
                <p className="isolated">{item.text}</p>
                <AttentionAction action={item.action} />
              </li>
            ))}
          </ul>
        )}
      </Card>
    </div>
  )
}

function AttentionCount({ items }: { readonly items: readonly Attention[] }) {
  return <span className="faint">{number(items.length)}</span>
}

function AttentionAction({ action }: Pick<Attention, 'action'>) {
  if (action.kind === 'resume')
    return (
      <Acting>
        <Resume type={action.type} />
      </Acting>
    )
  if (action.kind === 'schedules')
    return (
      <Link className="button plain" to="/schedules">
        Show the schedule
      </Link>
    )
  return (
    <Link className="button plain" to="/tasks" search={{ type: [action.type], status: [action.status] }}>
      Show the tasks
    </Link>
  )
}

function Resume({ type }: { readonly type: string }) {
  const resume = useAction({
    run: () => baton.resume(type),
    done: `${type} runs again`,
    changes: [['types'], ['type', type], ['counts']],
  })
  return (
    <Button onClick={() => resume.mutate()} disabled={resume.isPending}>
      Resume
    </Button>
  )
}
