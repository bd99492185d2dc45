import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { RefreshCw } from 'lucide-react'
import { useCallback, useMemo, useRef, useState } from 'react'
import type { ListFilter } from '../../shared/api/tasks.ts'
import type { ApiType } from '../../shared/api/types.ts'
import { queries, tasksQuery, typesQuery } from '../api/queries.ts'
import { Acting, Button } from '../parts/controls.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { counted } from '../parts/format.ts'
import { Answer, Empty, Loading, Page, Unanswered } from '../parts/page.tsx'
import { ACTIONS, type Action, bulkOf } from './actions.ts'
import { ServerNote, startBulk } from './bulk.tsx'
import { BulkRecord } from './bulk-record.tsx'
import type { TaskFilter } from './filter.ts'
import { FilterBar } from './filter-bar.tsx'
import { TaskList, useSelection } from './task-list.tsx'

const route = getRouteApi('/tasks')

/** The list of tasks, live as long as its first page is shown. */
export function TasksPage() {
  const filter = route.useSearch()
  return (
    <Page title="Tasks" actions={<BulkRecord />}>
      <FilterBar filter={filter} />
      <Answer of={useQuery(typesQuery)} rows={12}>
        {types => <FilteredTasks filter={listFilter(filter, types)} />}
      </Answer>
    </Page>
  )
}

/** The filter as the API takes it: a list shows the tasks of some types, of a user, or of a canvas. */
function listFilter({ order = '-created', ...filter }: TaskFilter, types: readonly ApiType[]): ListFilter {
  const isNarrow = filter.type ?? filter.userId ?? filter.canvasId
  return { order, ...(isNarrow === undefined && { type: types.map(({ type }) => type) }), ...filter }
}

function FilteredTasks({ filter }: { readonly filter: ListFilter }) {
  const query = useInfiniteQuery(tasksQuery(filter))
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage, isStale } = query
  const tasks = useMemo(() => data?.pages.flatMap(({ items }) => items) ?? [], [data])
  const ids = useMemo(() => tasks.map(({ id }) => id), [tasks])
  const navigate = useNavigate()
  const scrollTo = useRef((_index: number) => {})
  const show = useCallback((index: number) => scrollTo.current(index), [])
  const open = useCallback(
    (id: string) => void navigate({ to: '/tasks/$id', params: { id }, search: {} }),
    [navigate],
  )
  const selection = useSelection(ids, { open, show })
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])

  if (!data) return <Unanswered of={query} rows={12} />
  if (tasks.length === 0 && !hasNextPage)
    return (
      <Empty title="No task fits">Tasks appear here when they are published. A filter may hide them.</Empty>
    )
  return (
    <>
      {isStale && data.pages.length > 1 && (
        <Button
          className="button accent outdated"
          icon={RefreshCw}
          text="The list has changed"
          onClick={() => void queries.resetQueries(tasksQuery(filter))}
        />
      )}
      <TaskList tasks={tasks} selection={selection} onEnd={onEnd} scrollTo={scrollTo} />
      {hasNextPage && <Loading rows={2} />}
      {selection.selected.size > 0 && (
        <Acting>
          <BulkBar
            ids={[...selection.selected]}
            filter={hasNextPage ? filter : undefined}
            onDone={() => selection.select([])}
          />
        </Acting>
      )}
    </>
  )
}

type BulkBarProps = {
  readonly ids: readonly string[]
  /** The filter that more tasks fit; undefined when the selection can hold all of them. */
  readonly filter: ListFilter | undefined
  readonly onDone: () => void
}

/** What can be done with the selected tasks, or with all tasks of the filter. */
function BulkBar({ ids, filter, onDone }: BulkBarProps) {
  const [asked, setAsked] = useState<Action>()
  const [isAll, setAll] = useState(false)
  const all = isAll ? filter : undefined
  const canAll = filter && ACTIONS.some(action => bulkOf(action, filter))
  const subject = all ? 'all matching tasks' : counted(ids.length, 'task')
  const begin = (action: Action) => {
    onDone()
    const tasks = all ? bulkOf(action, all) : ids
    if (tasks) void startBulk(action, tasks)
  }
  return (
    <section className="bulk-bar" aria-label="Actions on the selection">
      <span>
        {subject}
        {canAll && (
          <button type="button" className="link-button" onClick={() => setAll(!isAll)}>
            {isAll ? 'only the selected' : 'all matching'}
          </button>
        )}
      </span>
      {ACTIONS.map(action => (
        <Button
          key={action.verb}
          look={action.name === 'remove' ? 'danger' : 'plain'}
          text={action.verb}
          disabled={all && !bulkOf(action, all)}
          onClick={() => setAsked(action)}
        />
      ))}
      <Button look="quiet" text="Clear" onClick={onDone} />
      {filter && !canAll && (
        <p className="soft">
          For all matching tasks, choose one type and no User, Canvas, Tag or Until. From needs an order by
          end.
        </p>
      )}
      {asked && (
        <Confirm
          title={`${asked.verb} ${subject}?`}
          action={asked.verb}
          isDanger={asked.name === 'remove'}
          onConfirm={() => begin(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>{asked.explanation}</p>
          {all && <ServerNote />}
          {!all && <p className="soft">It begins after 5 seconds, in which it can be undone.</p>}
        </Confirm>
      )}
    </section>
  )
}
