import { useQuery } from '@tanstack/react-query'
import type { ApiWorker } from '../../shared/api/types.ts'
import { workersQuery } from '../api/queries.ts'
import { number } from '../parts/format.ts'
import { Answer, Card, type Column, Empty, Page, Table } from '../parts/page.tsx'
import { Name, TypeLink, When } from '../parts/text.tsx'

/** The live workers: what each serves, how much it runs, and when it was last seen. */
export function WorkersPage() {
  return (
    <Page title="Workers">
      <Answer of={useQuery(workersQuery)}>
        {workers =>
          workers.length === 0 ? (
            <Empty title="No worker is running">
              Lambda handlers appear with their first run. A worker of your own joins with: npx baton worker
              FILE
            </Empty>
          ) : (
            <Card>
              <Table columns={COLUMNS} rows={workers} keyOf={({ id }) => id} />
            </Card>
          )
        }
      </Answer>
    </Page>
  )
}

const COLUMNS: ReadonlyArray<Column<ApiWorker>> = [
  {
    name: 'Worker',
    cell: ({ id, version }) => (
      <span className="cell-name">
        <Name>{id}</Name>
        {version !== undefined && <span className="tag">{version}</span>}
      </span>
    ),
  },
  { name: 'Kind', look: 'soft', cell: ({ kind }) => kind },
  { name: 'Types', look: 'wide-cell', cell: ({ types }) => <TypeLinks types={types} /> },
  { name: 'Running', kind: 'number', cell: ({ running }) => number(running) },
  { name: 'Last seen', look: 'soft', cell: ({ lastSeen }) => <When at={lastSeen} /> },
]

const TYPES_SHOWN = 6

function TypeLinks({ types }: Pick<ApiWorker, 'types'>) {
  return (
    <span className="tags">
      {types.slice(0, TYPES_SHOWN).map(type => (
        <TypeLink key={type} type={type} />
      ))}
      {types.length > TYPES_SHOWN && <span className="faint">and {types.length - TYPES_SHOWN} more</span>}
    </span>
  )
}
