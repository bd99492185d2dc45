import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck } from 'lucide-react'
import { baton } from '../api/baton.ts'
import { schedulesQuery, workersQuery } from '../api/queries.ts'
import { LatenessChart, ThroughputChart } from '../charts/chart.tsx'
import { slotsOf } from '../charts/series.ts'
import { CostCard } from '../cost/cost-card.tsx'
import { Acting, ActionButton } from '../parts/controls.tsx'
import { number, sumText } from '../parts/format.ts'
import { Card, Empty, Failure, Loading, Page } from '../parts/page.tsx'
import { Dotted, StatusTiles } from '../parts/text.tsx'
import { TypesTable, useWork } from '../types/types-page.tsx'
import { type Attention, attentionOf } from './attention.ts'

/** The whole system on one page: what needs attention first, then every type. */
export function OverviewPage() {
  const known = { ...useWork(), schedules: useQuery(schedulesQuery), workers: useQuery(workersQuery) }
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
      <StatusTiles count={status => (counts ? sumText([...counts.values()].map(one => one[status])) : '–')} />
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

/** Its height does not depend on what it shows: a long list scrolls in it. Undefined while it is not known. */
function NeedsAttention({ items }: { readonly items: readonly Attention[] | undefined }) {
  return (
    <div className="attention">
      <Card
        title="Needs attention"
        tools={items && items.length > 1 && <span className="faint">{number(items.length)}</span>}
      >
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
                <Dotted tone={item.tone} />
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

function AttentionAction({ action }: Pick<Attention, 'action'>) {
  if (action.kind === 'resume')
    return (
      <Acting>
        <ActionButton
          text="Resume"
          run={() => baton.resume(action.type)}
          done={`${action.type} runs again`}
          changes={[['types'], ['type', action.type], ['counts']]}
        />
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
