import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck } from 'lucide-react'
import type { ApiType, Counts } from '../../shared/api/types.ts'
import { baton } from '../api/baton.ts'
import { countsQuery, schedulesQuery, typesQuery, workersQuery } from '../api/queries.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { number } from '../parts/format.ts'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { Card, Page } from '../parts/page.tsx'
import { STATUSES, type Status, toneOf } from '../parts/status.tsx'
import { TypesTable } from '../types/types-table.tsx'
import { type Attention, attentionOf } from './attention.ts'

/** The whole system on one page: what needs attention first, then every type. */
export function OverviewPage() {
  const { data: types, error, refetch } = useQuery(typesQuery)
  return (
    <Page title="Overview">
      {types && <Types types={types} />}
      {!types && error && <Failure error={error} onRetry={refetch} />}
      {!types && !error && <Loading rows={10} />}
    </Page>
  )
}

function Types({ types }: { readonly types: readonly ApiType[] }) {
  const answers = useQueries({ queries: types.map(({ type }) => countsQuery(type)) })
  const { data: schedules = [], isPending: isReadingSchedules } = useQuery(schedulesQuery)
  const { data: workers = [], isPending: isReadingWorkers } = useQuery(workersQuery)
  const counts = new Map(
    types.flatMap(({ type }, index) => {
      const data = answers[index]?.data
      return data ? [[type, data] as const] : []
    }),
  )
  if (types.length === 0)
    return (
      <Empty title="There are no task types yet">
        A type appears when a handler is deployed, or when it is registered over the API.
      </Empty>
    )
  // Drawn piece by piece, the page would jump, and would call a type unserved whose worker is not known yet.
  const isReading = isReadingSchedules || isReadingWorkers || answers.some(({ isPending }) => isPending)
  if (isReading) return <Loading rows={12} />
  return (
    <>
      <Totals counts={[...counts.values()]} isComplete={counts.size === types.length} />
      <NeedsAttention
        items={attentionOf({ types, counts, schedules, workers })}
        isComplete={counts.size === types.length}
      />
      <Card title="Types">
        <TypesTable types={types} counts={counts} />
      </Card>
    </>
  )
}

function Totals({
  counts,
  isComplete,
}: {
  readonly counts: readonly Counts[]
  readonly isComplete: boolean
}) {
  const total = (status: Status) => counts.reduce((sum, one) => sum + one[status], 0)
  return (
    <div className="tiles">
      {STATUSES.map(status => (
        <Link key={status} className="tile" to="/tasks" search={{ status: [status] }}>
          <span className="status soft" data-tone={toneOf(status)}>
            <span className="dot" aria-hidden />
            {status}
          </span>
          <strong>{isComplete ? number(total(status)) : '–'}</strong>
        </Link>
      ))}
    </div>
  )
}

function NeedsAttention({
  items,
  isComplete,
}: {
  readonly items: readonly Attention[]
  readonly isComplete: boolean
}) {
  return (
    <div className="attention">
      <Card title="Needs attention">
        {items.length === 0 ? (
          <p className="all-well">
            {isComplete && <CircleCheck size={18} aria-hidden />}
            {isComplete ? 'Nothing stands still, and nothing has failed.' : 'Reading the types …'}
          </p>
        ) : (
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

function AttentionAction({ action }: Pick<Attention, 'action'>) {
  if (action.kind === 'resume') return <Resume type={action.type} />
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
    changes: [['types'], ['type', type], ['counts', type]],
  })
  return (
    <Button onClick={() => resume.mutate()} disabled={resume.isPending}>
      Resume
    </Button>
  )
}
