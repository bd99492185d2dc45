import { useQuery } from '@tanstack/react-query'
import type { ApiWorker } from '../../shared/api/types.ts'
import { taskQuery, workersQuery } from '../api/queries.ts'
import { counted, number } from '../parts/format.ts'
import { Answer, Card, Empty, Page } from '../parts/page.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Dotted, IdLink, Name, StatusBadge, TypeLink, When } from '../parts/text.tsx'

/** The workers that are there, and for a day those that have stopped or died: what each serves and runs. */
export function WorkersPage() {
  return (
    <Page title="Workers">
      <Answer of={useQuery(workersQuery)}>
        {workers => (
          <Card>
            <Table columns={COLUMNS} rows={workers.toSorted(byState)} keyOf={({ id }) => id} empty={NONE} />
          </Card>
        )}
      </Answer>
    </Page>
  )
}

const NONE = (
  <Empty title="No worker was there within the last day">
    Lambda handlers appear with their first run. A worker of your own joins with: npx baton worker FILE
  </Empty>
)

/** Dead workers come first, and those that have stopped last. */
const STATES: ReadonlyArray<ApiWorker['state']> = ['dead', 'draining', 'live', 'stopped']
const TONES = { dead: 'bad', draining: 'warn', live: 'good', stopped: 'idle' }

function byState(a: ApiWorker, b: ApiWorker): number {
  return STATES.indexOf(a.state) - STATES.indexOf(b.state)
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
  { name: 'State', cell: ({ state }) => <Dotted tone={TONES[state]}>{state}</Dotted> },
  { name: 'Kind', look: 'soft', cell: ({ kind }) => kind },
  { name: 'Types', look: 'wide-cell', cell: ({ types }) => <TypeLinks types={types} /> },
  {
    name: 'Running',
    kind: 'number',
    cell: ({ state, running }) => (state === 'live' || state === 'draining' ? number(running) : '–'),
  },
  { name: 'Last seen', look: 'soft', cell: ({ lastSeen, stoppedAt }) => <When at={stoppedAt ?? lastSeen} /> },
  { name: 'Had', look: 'wide-cell', cell: heldTasks },
]

/** What a dead worker ran at its last sign of life. It names up to five tasks. */
function heldTasks({ state, running, tasks = [] }: ApiWorker) {
  if (state !== 'dead' || running === 0) return null
  return (
    <>
      {counted(running, 'task')}
      {tasks.map(id => (
        <Held key={id} id={id} />
      ))}
    </>
  )
}

function Held({ id }: { readonly id: string }) {
  const { data: task } = useQuery(taskQuery(id))
  const taker = task?.runs.find(({ state }) => state === 'running')?.workerId
  return (
    <span className="cell-name">
      <IdLink id={id} />
      {task && <StatusBadge state={task.status} />}
      {taker !== undefined && <Name>{taker}</Name>}
    </span>
  )
}

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
