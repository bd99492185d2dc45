import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { RotateCcw } from 'lucide-react'
import { useState } from 'react'
import type { ApiFailureGroup } from '../../shared/api/diagnosis/failures.ts'
import { baton } from '../api/baton.ts'
import { failuresQuery } from '../api/queries.ts'
import { Sparkline } from '../charts/chart.tsx'
import { Acting, Button } from '../parts/button.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { counted, cut, moment, number, visible } from '../parts/format.ts'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Name, When } from '../parts/text.tsx'
import { type BulkTask, startBulk } from '../tasks/bulk.ts'
import { type TasksOfGroup, tasksOfGroup } from './searched-part.ts'

const ERROR_CHARACTERS = 300

/** The failures of the last 24 hours, grouped by type and error. */
export function FailuresPage() {
  const { data, error, refetch } = useQuery(failuresQuery)
  return (
    <Page title="Failures" lead="of the last 24 hours, by type and error; # stands for what differs">
      {data?.items.length === 0 && <Empty title="Nothing has failed" />}
      {data && data.items.length > 0 && (
        <Card>
          <Groups groups={data.items} />
        </Card>
      )}
      {data?.nextCursor !== undefined && (
        <p className="note soft">There are more groups than these {data.items.length}.</p>
      )}
      {!data && error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading />}
    </Page>
  )
}

function Groups({ groups }: { readonly groups: readonly ApiFailureGroup[] }) {
  return (
    <div className="table-frame">
      <table>
        <thead>
          <tr>
            <th scope="col">Error</th>
            <th scope="col" className="number">
              Count
            </th>
            <th scope="col" className="narrow-hidden">
              24 hours
            </th>
            <th scope="col">First</th>
            <th scope="col">Last</th>
            <th scope="col">Example</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {groups.map(group => (
            <GroupRow key={`${group.type} ${group.error}`} group={group} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function GroupRow({ group }: { readonly group: ApiFailureGroup }) {
  const { type, error, count, hours, firstAt, lastAt, exampleId } = group
  const tasks = tasksOfGroup(group)
  const search = tasks ?? {
    type: [type],
    status: ['failed' as const],
    since: firstAt,
    order: '-ended' as const,
  }
  return (
    <tr>
      <td className="failure-cell">
        <Link to="/tasks" search={search} className="isolated">
          {cut(visible(error), ERROR_CHARACTERS)}
        </Link>
        <span className="faint">
          <Name mono={false}>{type}</Name>
        </span>
      </td>
      <td className="number" data-label="Count">
        {number(count)}
      </td>
      <td className="narrow-hidden">
        <Sparkline
          label={`Failures in each of the last 24 hours, ${number(count)} in all`}
          series={[{ name: 'failed', tone: 'bad', values: perHour(hours) }]}
        />
      </td>
      <td className="soft" data-label="First">
        <When at={firstAt} />
      </td>
      <td className="soft" data-label="Last">
        <When at={lastAt} />
      </td>
      <td className="wide-cell" data-label="Example">
        <span className="cell-name">
          <Link to="/tasks/$id" params={{ id: exampleId }} search={{}} className="cut">
            <Name>{exampleId}</Name>
          </Link>
        </span>
      </td>
      <td className="action-cell">
        {tasks && (
          <Acting>
            <RetryAll tasks={tasks} />
          </Acting>
        )}
      </td>
    </tr>
  )
}

const HOUR_MS = 3_600_000
const HOURS = 24

/** The failures of each of the last 24 hours; the present one comes last. */
function perHour(hours: ApiFailureGroup['hours']): number[] {
  const present = Math.floor(Date.now() / HOUR_MS)
  const counts = new Map(hours.map(({ at, count }) => [Math.floor(Date.parse(at) / HOUR_MS), count]))
  return Array.from({ length: HOURS }, (_, index) => counts.get(present - HOURS + 1 + index) ?? 0)
}

const PAGE_MAX = 100

/** Retries the failed tasks of a group. The reader is first told which and how many these are. */
export function RetryAll({ tasks }: { readonly tasks: TasksOfGroup }) {
  const [isAsked, setAsked] = useState(false)
  return (
    <span className="cell-actions">
      <Button onClick={() => setAsked(true)}>
        <RotateCcw size={14} aria-hidden /> Retry all
      </Button>
      {isAsked && <Asking tasks={tasks} onClose={() => setAsked(false)} />}
    </span>
  )
}

function Asking({ tasks, onClose }: { readonly tasks: TasksOfGroup; readonly onClose: () => void }) {
  const { data: page, error } = useQuery({
    queryKey: ['failed-tasks', tasks],
    queryFn: () => baton.listPage({ ...tasks, limit: PAGE_MAX }),
    gcTime: 0,
  })
  const found = page?.items.length ?? 0
  const isNone = found === 0 && page?.nextCursor === undefined
  return (
    <Confirm
      title="Retry the failed tasks?"
      action="Retry"
      isReady={page !== undefined && !isNone}
      onConfirm={() =>
        void startBulk({
          verb: 'Retry',
          tasks: failed(tasks),
          run: (id, expected) => baton.retry(id, expected),
          isHarmless: true,
        })
      }
      onClose={onClose}
    >
      <p className="isolated">
        All tasks of {tasks.type} that failed since {moment(tasks.since)} and whose error contains “
        {visible(tasks.error)}” start over, with a fresh retry budget. Tasks of other groups whose error
        contains it are among them.
      </p>
      <p className="soft">
        The group also counts failed runs. Tasks that run again or have succeeded since are not retried, and a
        task that a person changes meanwhile is left as it is.
      </p>
      <p role="status">{error ? null : page ? foundText(found, page.nextCursor, isNone) : 'Counting …'}</p>
      {error && <Failure error={error} />}
    </Confirm>
  )
}

function foundText(found: number, nextCursor: string | undefined, isNone: boolean): string {
  if (isNone) return 'No task has failed so for good: there is nothing to retry.'
  return nextCursor === undefined
    ? `${counted(found, 'task')} at present.`
    : `More than ${counted(found, 'task')} at present.`
}

/** The tasks, those that ended last first: a task that fails again meanwhile is not met again. */
async function* failed(tasks: TasksOfGroup): AsyncGenerator<BulkTask, void, undefined> {
  for await (const { id, revision } of baton.list({ ...tasks, limit: PAGE_MAX })) yield { id, revision }
}
