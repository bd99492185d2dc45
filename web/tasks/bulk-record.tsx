import { useQuery } from '@tanstack/react-query'
import type { ApiBulk } from '../../shared/api/bulk.ts'
import { bulksQuery } from '../api/queries.ts'
import { ActionButton, Opener } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { counted, number, visible } from '../parts/format.ts'
import { Answer, type Column, Empty, Table } from '../parts/page.tsx'
import { Name, When } from '../parts/text.tsx'
import { REASONS } from './actions.ts'
import { stopOnServer } from './bulk.tsx'

/** The last bulk operations of the server: who began each, what became of it, and what it has left out. */
export function BulkRecord() {
  return <Opener text="Bulk operations" dialog={close => <RecordDialog onClose={close} />} />
}

function RecordDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Bulk operations" look="wide" onClose={onClose}>
      <div className="dialog-body">
        <Answer of={useQuery(bulksQuery)}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No bulk operation has begun in the last 30 days" />
            ) : (
              <Table columns={COLUMNS} rows={items} keyOf={({ id }) => id} />
            )
          }
        </Answer>
      </div>
    </Dialog>
  )
}

const COLUMNS: ReadonlyArray<Column<ApiBulk>> = [
  {
    name: 'Operation',
    look: 'wide-cell',
    cell: ({ action, type, status, error }) => (
      <span className="isolated">
        {action} {status.join(', ')} <bdi>{visible(type)}</bdi>
        {error !== undefined && <> with “{visible(error)}”</>}
      </span>
    ),
  },
  { name: 'By', look: 'wide-cell', cell: ({ by = '–' }) => <Name>{by}</Name> },
  { name: 'Begun', look: 'soft', cell: ({ createdAt }) => <When at={createdAt} /> },
  { name: 'Done', kind: 'number', cell: ({ done, selected }) => `${number(done)} of ${number(selected)}` },
  { name: 'Left out', look: 'wide-cell', cell: ({ leftOut }) => leftOutText(leftOut) },
  { name: 'State', cell: bulk => <BulkState bulk={bulk} /> },
]

function leftOutText(leftOut: ApiBulk['leftOut']): string {
  const texts = Object.entries(leftOut).map(
    ([reason, count]) => `${counted(count, 'task')}: ${REASONS[reason] ?? reason}`,
  )
  return texts.join('; ') || '–'
}

function BulkState({ bulk: { id, state, stopped } }: { readonly bulk: ApiBulk }) {
  if (state === 'finished') return stopped ? 'stopped' : 'finished'
  if (stopped) return 'stops'
  return <ActionButton text="Stop" run={() => stopOnServer(id)} done="It stops" changes={[['bulks']]} />
}
