import { useQuery } from '@tanstack/react-query'
import type { ApiBulk } from '../../shared/api/bulk.ts'
import { bulksQuery } from '../api/queries.ts'
import { Button, Opener } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { number, visible } from '../parts/format.ts'
import { Answer, Empty } from '../parts/page.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Name, When } from '../parts/text.tsx'
import { showBulk } from './bulk.tsx'

/** The last bulk operations of the server: the caller that began each, and what became of it. */
export function BulkRecord() {
  return <Opener text="Bulk operations" dialog={close => <RecordDialog onClose={close} />} />
}

function RecordDialog({ onClose }: { readonly onClose: () => void }) {
  const show = (bulk: ApiBulk) => {
    onClose()
    showBulk(bulk)
  }
  const details = (bulk: ApiBulk) => <Button text="Details" onClick={() => show(bulk)} />
  const columns = [...COLUMNS, { name: 'Actions', kind: 'actions', cell: details } as const]
  return (
    <Dialog title="Bulk operations" look="wide" onClose={onClose}>
      <div className="dialog-body">
        <Answer of={useQuery(bulksQuery)}>
          {({ items }) => <Table columns={columns} rows={items} keyOf={({ id }) => id} empty={NONE} />}
        </Answer>
      </div>
    </Dialog>
  )
}

const NONE = <Empty title="No bulk operation has begun in the last 30 days" />

const COLUMNS: ReadonlyArray<Column<ApiBulk>> = [
  {
    name: 'Operation',
    look: 'failure-cell',
    cell: ({ action, status, type, error }) => (
      <span className="isolated">
        {action} {status.join(', ')}: <bdi>{visible(type)}</bdi>
        {error && (
          <>
            , <bdi>“{visible(error)}”</bdi>
          </>
        )}
      </span>
    ),
  },
  { name: 'By', look: 'wide-cell', cell: ({ by = '–' }) => <Name>{by}</Name> },
  { name: 'Begun', look: 'soft', cell: ({ createdAt }) => <When at={createdAt} /> },
  { name: 'Done', kind: 'number', cell: ({ done, selected }) => `${number(done)} of ${number(selected)}` },
  { name: 'State', look: 'soft', cell: ({ state }) => state },
]
