import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiListedCanvas } from '../../shared/api/canvases.ts'
import { CANVAS_STATUSES } from '../../shared/core/states.ts'
import { baton } from '../api/baton.ts'
import { list } from '../api/queries.ts'
import { Segments } from '../parts/controls.tsx'
import { number } from '../parts/format.ts'
import { Card, Empty, Page } from '../parts/page.tsx'
import { type Column, Pages, Table } from '../parts/table.tsx'
import { IdLink, StatusBadge, When } from '../parts/text.tsx'

type Status = ApiListedCanvas['status'] | 'all'

export function CanvasesPage() {
  const [status, setStatus] = useState<Status>('all')
  return (
    <Page title="Canvases">
      <div className="stack">
        <Segments label="Status" choices={['all', ...CANVAS_STATUSES]} chosen={status} onChoose={setStatus} />
        <Card>
          <Pages of={useInfiniteQuery(canvasesQuery(status))}>
            {canvases => <Table columns={COLUMNS} rows={canvases} keyOf={({ id }) => id} empty={NONE} />}
          </Pages>
        </Card>
      </div>
    </Page>
  )
}

const NONE = <Empty title="There are no such canvases" />

const canvasesQuery = (status: Status) =>
  list(['canvas', 'list', status], page =>
    baton.canvases({ ...page, limit: 20, ...(status !== 'all' && { status: [status] }) }),
  )

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
