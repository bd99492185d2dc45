import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ApiWorker } from '../../shared/api/workers.ts'
import { workersQuery } from '../api/queries.ts'
import { number } from '../parts/format.ts'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Name, When } from '../parts/text.tsx'

/** The live workers: what each serves, how much it runs, and when it was last seen. */
export function WorkersPage() {
  const { data: workers, error, refetch } = useQuery(workersQuery)
  return (
    <Page title="Workers">
      {workers?.length === 0 && (
        <Empty title="No worker is there">
          Lambda handlers appear with their first run. A worker of your own joins with: npx baton worker FILE
        </Empty>
      )}
      {workers && workers.length > 0 && (
        <Card>
          <Workers workers={workers} />
        </Card>
      )}
      {!workers && error && <Failure error={error} onRetry={refetch} />}
      {!workers && !error && <Loading />}
    </Page>
  )
}

function Workers({ workers }: { readonly workers: readonly ApiWorker[] }) {
  return (
    <div className="table-frame">
      <table>
        <thead>
          <tr>
            <th scope="col">Worker</th>
            <th scope="col">Kind</th>
            <th scope="col">Types</th>
            <th scope="col" className="number">
              Running
            </th>
            <th scope="col">Last seen</th>
          </tr>
        </thead>
        <tbody>
          {workers.map(worker => (
            <tr key={worker.id}>
              <td>
                <span className="cell-name">
                  <Name>{worker.id}</Name>
                  {worker.version !== undefined && <span className="tag">{worker.version}</span>}
                </span>
              </td>
              <td className="soft" data-label="Kind">
                {worker.kind}
              </td>
              <td data-label="Types" className="wide-cell">
                <TypeLinks types={worker.types} />
              </td>
              <td className="number" data-label="Running">
                {number(worker.running)}
              </td>
              <td className="soft" data-label="Last seen">
                <When at={worker.lastSeen} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const TYPES_SHOWN = 6

function TypeLinks({ types }: Pick<ApiWorker, 'types'>) {
  return (
    <span className="tags">
      {types.slice(0, TYPES_SHOWN).map(type => (
        <Link key={type} to="/types/$type" params={{ type }}>
          <Name mono={false}>{type}</Name>
        </Link>
      ))}
      {types.length > TYPES_SHOWN && <span className="faint">and {types.length - TYPES_SHOWN} more</span>}
    </span>
  )
}
