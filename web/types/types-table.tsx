import { Link } from '@tanstack/react-router'
import type { ApiType, Counts } from '../../shared/api/types.ts'
import { number } from '../parts/format.ts'
import { STATUSES, type Status, toneOf } from '../parts/status.tsx'
import { Name } from '../parts/text.tsx'

const COLUMNS = ['delayed', 'ready', 'running', 'succeeded', 'failed'] as const satisfies readonly Status[]

/** All types, each with the numbers of its tasks. Each number leads to those tasks. */
export function TypesTable({
  types,
  counts,
}: {
  readonly types: readonly ApiType[]
  readonly counts: ReadonlyMap<string, Counts>
}) {
  return (
    <div className="table-frame">
      <table>
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col" className="narrow-hidden">
              Kind
            </th>
            {COLUMNS.map(status => (
              <th key={status} scope="col" className="number">
                {status}
              </th>
            ))}
            <th scope="col" className="narrow-hidden">
              Share
            </th>
          </tr>
        </thead>
        <tbody>
          {types.map(type => (
            <TypeRow key={type.type} type={type} counts={counts.get(type.type)} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function TypeRow({
  type: { type, kind, paused },
  counts,
}: {
  readonly type: ApiType
  readonly counts: Counts | undefined
}) {
  return (
    <tr>
      <td>
        <span className="cell-name">
          <Link to="/types/$type" params={{ type }} className="cut">
            <Name mono={false}>{type}</Name>
          </Link>
          {paused && <span className="tag warn">paused</span>}
        </span>
      </td>
      <td className="soft narrow-hidden">{kind}</td>
      {COLUMNS.map(status => (
        <td key={status} className="number">
          <CountLink type={type} status={status} count={counts?.[status]} />
        </td>
      ))}
      <td className="narrow-hidden">{counts && <Share counts={counts} />}</td>
    </tr>
  )
}

function CountLink({
  type,
  status,
  count,
}: {
  readonly type: string
  readonly status: Status
  readonly count: number | undefined
}) {
  if (count === undefined || count === 0)
    return <span className="zero">{count === undefined ? '–' : '0'}</span>
  return (
    <Link
      to="/tasks"
      search={{ type: [type], status: [status] }}
      aria-label={`${count} ${status} tasks of ${type}`}
    >
      {number(count)}
    </Link>
  )
}

/** How a type's tasks are spread over the statuses, as one bar. */
function Share({ counts }: { readonly counts: Counts }) {
  const total = STATUSES.reduce((sum, status) => sum + counts[status], 0)
  return (
    <span className="share" aria-hidden>
      {STATUSES.filter(status => counts[status] > 0).map(status => (
        <span
          key={status}
          data-tone={toneOf(status)}
          style={{ flexGrow: counts[status] / Math.max(1, total) }}
        />
      ))}
    </span>
  )
}
