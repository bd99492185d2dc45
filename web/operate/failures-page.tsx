import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { RotateCcw } from 'lucide-react'
import type { ApiFailureGroup } from '../../shared/api/diagnosis/statistics.ts'
import { baton } from '../api/baton.ts'
import { failuresQuery, taskQuery } from '../api/queries.ts'
import { Sparkline } from '../charts/chart.tsx'
import { HOUR_MS, ratesOf } from '../charts/series.ts'
import { Acting, Opener } from '../parts/controls.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { counted, cut, duration, moment, number, visible } from '../parts/format.ts'
import { Answer, Card, Empty, Failure, Page } from '../parts/page.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { IdLink, Name, When } from '../parts/text.tsx'
import { bulkOf, RETRY } from '../tasks/actions.ts'
import { BulkNote, startBulk } from '../tasks/bulk.tsx'
import { BulkRecord } from '../tasks/bulk-record.tsx'
import { type TaskFilter, type TasksOfGroup, tasksOfGroup } from '../tasks/filter.ts'

const ERROR_CHARACTERS = 300

export function FailuresPage() {
  return (
    <Page
      title="Failures"
      lead="of the last 24 hours, by type and error; # stands for what differs"
      actions={<BulkRecord />}
    >
      <Answer of={useQuery(failuresQuery)}>
        {({ items, nextCursor }) => (
          <Card>
            <Table
              columns={COLUMNS}
              rows={items}
              keyOf={keyOf}
              empty={<Empty title="Nothing has failed" />}
            />
            {nextCursor !== undefined && (
              <p className="note soft">There are more groups than these {items.length}.</p>
            )}
          </Card>
        )}
      </Answer>
    </Page>
  )
}

function keyOf({ type, error }: ApiFailureGroup): string {
  return `${type} ${error}`
}

const COLUMNS: ReadonlyArray<Column<ApiFailureGroup>> = [
  {
    name: 'Error',
    look: 'failure-cell',
    cell: group => (
      <>
        <Link to="/tasks" search={searchOf(group)} className="isolated">
          {cut(visible(group.error), ERROR_CHARACTERS)}
        </Link>
        <span className="faint">
          <Name mono={false}>{group.type}</Name>
        </span>
      </>
    ),
  },
  {
    name: 'Last hour',
    kind: 'number',
    sortBy: group => ratesOf(group, Date.now()).lastHour,
    cell: group => number(Math.round(ratesOf(group, Date.now()).lastHour)),
  },
  { name: 'A day', kind: 'number', sortBy: ({ count }) => count, cell: ({ count }) => number(count) },
  {
    name: '24 hours',
    kind: 'narrow-hidden',
    cell: ({ count, hours }) => (
      <Sparkline
        label={`Failures in each of the last 24 hours, ${number(count)} in all`}
        series={[{ name: 'failed', tone: 'bad', values: perHour(hours) }]}
      />
    ),
  },
  {
    name: 'First',
    look: 'soft',
    sortBy: ({ firstAt }) => firstAt,
    cell: ({ firstAt }) => <When at={firstAt} />,
  },
  {
    name: 'Last',
    look: 'soft',
    sortBy: ({ lastAt }) => -Date.parse(lastAt),
    cell: ({ lastAt }) => <When at={lastAt} />,
  },
  { name: 'Example', look: 'wide-cell', cell: ({ exampleId }) => <Example id={exampleId} /> },
  {
    name: 'Actions',
    kind: 'actions',
    cell: group => {
      const tasks = tasksOfGroup(group)
      const dialog = (close: () => void) => tasks && <Asking tasks={tasks} onClose={close} />
      return <Acting>{tasks && <Opener icon={RotateCcw} text="Retry all" dialog={dialog} />}</Acting>
    },
  },
]

/** A task that failed so, and how long its last run without success took. It may have been removed. */
function Example({ id }: { readonly id: string }) {
  const { data: task } = useQuery({ ...taskQuery(id), ...EXAMPLE })
  const run = task?.runs.findLast(({ state, endedAt }) => state !== 'succeeded' && endedAt !== undefined)
  return (
    <>
      <IdLink id={id} />
      {run?.endedAt !== undefined && (
        <div className="faint">after {duration(Date.parse(run.endedAt) - Date.parse(run.startedAt))}</div>
      )}
    </>
  )
}

/** An example is read once: the page has up to a hundred. */
const EXAMPLE = { meta: {}, staleTime: Number.POSITIVE_INFINITY, retry: false } as const

/** The filter of the list of tasks that shows a group, or at least all failed tasks of its type since its first failure. */
function searchOf(group: ApiFailureGroup): TaskFilter {
  const { type, firstAt } = group
  return tasksOfGroup(group) ?? { type: [type], status: ['failed'], since: firstAt, order: '-ended' }
}

const HOURS = 24

/** The failures of each of the last 24 hours; the present one comes last. */
function perHour(hours: ApiFailureGroup['hours']): number[] {
  const present = Math.floor(Date.now() / HOUR_MS)
  const counts = new Map(hours.map(({ at, count }) => [Math.floor(Date.parse(at) / HOUR_MS), count]))
  return Array.from({ length: HOURS }, (_, index) => counts.get(present - HOURS + 1 + index) ?? 0)
}

const PAGE_MAX = 100

/** Retries the failed tasks of a group. The reader first sees which and how many these are. */
function Asking({ tasks, onClose }: { readonly tasks: TasksOfGroup; readonly onClose: () => void }) {
  const { data: page, error } = useQuery({
    queryKey: ['failed-tasks', tasks],
    queryFn: () => baton.listPage({ ...tasks, limit: PAGE_MAX }),
    gcTime: 0,
  })
  const body = bulkOf(RETRY, tasks)
  const found = page?.items.length ?? 0
  const undecided = page?.items.filter(({ needsAttention }) => needsAttention).length ?? 0
  const isNone = found === 0 && page?.nextCursor === undefined
  return (
    <Confirm
      title="Retry the failed tasks?"
      action="Retry"
      isReady={page !== undefined && !isNone}
      onConfirm={() => body && void startBulk(RETRY, body)}
      onClose={onClose}
    >
      <p className="isolated">
        All tasks of {tasks.type} that failed since {moment(tasks.since)} and whose error contains “
        {visible(tasks.error)}” are tried again. Tasks of other groups whose error contains it are among them.
      </p>
      <p>{RETRY.explanation}</p>
      <p className="soft">
        The group also counts failed runs. Tasks that run again or have succeeded since are not retried, and a
        task that a person changes meanwhile is left as it is.
      </p>
      <BulkNote onServer />
      <p role="status">{error ? null : page ? foundText(found, page.nextCursor, isNone) : 'Counting …'}</p>
      {undecided > 0 && <p>{counted(undecided, 'task')} of these: left out, because a person must decide.</p>}
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
