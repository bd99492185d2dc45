import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiListedCanvas } from '../../shared/api/canvases.ts'
import { CANVAS_STATUSES } from '../../shared/core/states.ts'
import { baton } from '../api/baton.ts'
import { listed, pageAt } from '../api/queries.ts'
import { Button } from '../parts/controls.tsx'
import { number } from '../parts/format.ts'
import { Card, type Column, Empty, Page, Table, Unanswered } from '../parts/page.tsx'
import { IdLink, StatusBadge, When } from '../parts/text.tsx'

type Status = ApiListedCanvas['status'] | 'all'

/** The canvases, the latest first, of one status or of all. */
export function CanvasesPage() {
  const [status, setStatus] = useState<Status>('all')
  const query = useInfiniteQuery(canvasesQuery(status))
  const canvases = query.data?.pages.flatMap(page => page.items)
  return (
    <Page title="Canvases">
      <div className="stack">
        <fieldset className="segments" aria-label="Status">
          {(['all', ...CANVAS_STATUSES] as const).map(one => (
            <button key={one} type="button" aria-pressed={one === status} onClick={() => setStatus(one)}>
              {one}
            </button>
          ))}
        </fieldset>
        <Card>
          {!canvases && <Unanswered of={query} />}
          {canvases?.length === 0 && <Empty title="There are no such canvases" />}
          {canvases && canvases.length > 0 && (
            <Table columns={COLUMNS} rows={canvases} keyOf={({ id }) => id} />
          )}
          {query.hasNextPage && (
            <div className="more">
              <Button text="Show more" onClick={() => void query.fetchNextPage()} />
            </div>
          )}
        </Card>
      </div>
    </Page>
  )
}

const canvasesQuery = (status: Status) =>
  infiniteQueryOptions({
    queryKey: ['canvas', 'list', status],
    queryFn: ({ pageParam }) =>
      baton.canvases({ ...pageAt(pageParam), limit: 20, ...(status !== 'all' && { status: [status] }) }),
    ...listed,
  })

const COLUMNS: ReadonlyArray<Column<ApiListedCanvas>> = [
  { name: 'Canvas', look: 'wide-cell', cell: ({ id }) => <IdLink id={id} to="/canvases/$id" /> },
  { name: 'Form', look: 'soft', cell: ({ form }) => form },
  { name: 'Status', cell: ({ status }) => <StatusBadge state={status} /> },
  {
    name: 'Tasks ended',
    kind: 'number',
    cell: ({ ended, tasks }) =>
      ended === undefined ? number(tasks) : `${number(ended)} of ${number(tasks)}`,
  },
  { name: 'Published', look: 'soft', cell: ({ createdAt }) => <When at={createdAt} /> },
  { name: 'Ended', look: 'soft', cell: ({ finishedAt }) => <When at={finishedAt} /> },
  { name: 'Error', look: 'bad isolated', cell: ({ error }) => error?.message },
]
