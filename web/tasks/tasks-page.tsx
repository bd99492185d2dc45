import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { RefreshCw } from 'lucide-react'
import { useCallback, useMemo, useRef } from 'react'
import type { ListFilter } from '../../shared/api/tasks.ts'
import { baton } from '../api/baton.ts'
import { taskPage } from '../api/merged-lists.ts'
import { queries, tasksQuery, typesQuery } from '../api/queries.ts'
import { Acting } from '../parts/acting.tsx'
import { Button } from '../parts/button.tsx'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { Page } from '../parts/page.tsx'
import type { BulkTask } from './bulk.ts'
import { BulkBar } from './bulk-bar.tsx'
import type { TaskFilter } from './filter.ts'
import { FilterBar } from './filter-bar.tsx'
import { useSelection } from './selection.ts'
import { TaskList } from './task-list.tsx'

const route = getRouteApi('/tasks')

/** The list of tasks, live as long as its first page is shown. */
export function TasksPage() {
  const filter = route.useSearch()
  const { data: types, error, refetch } = useQuery(typesQuery)
  const names = useMemo(() => types?.map(({ type }) => type) ?? [], [types])
  return (
    <Page title="Tasks">
      <FilterBar filter={filter} />
      {types ? (
        <FilteredTasks filter={listFilter(filter, names)} />
      ) : (
        <Waiting error={error} onRetry={refetch} />
      )}
    </Page>
  )
}

function Waiting({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  return error ? <Failure error={error} onRetry={onRetry} /> : <Loading rows={12} />
}

/** The filter as the API takes it: a list is that of some types, of a user, or of a canvas. */
function listFilter({ order = '-created', ...filter }: TaskFilter, types: readonly string[]): ListFilter {
  const isNarrow = filter.type ?? filter.userId ?? filter.canvasId
  return { order, ...(isNarrow === undefined && { type: [...types] }), ...filter }
}

function FilteredTasks({ filter }: { readonly filter: ListFilter }) {
  const query = tasksQuery(filter)
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage, isStale } =
    useInfiniteQuery(query)
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

  if (!data) return <Waiting error={error} onRetry={refetch} />
  if (tasks.length === 0 && !hasNextPage)
    return (
      <Empty title="No task fits">Tasks appear here when they are published. A filter may hide them.</Empty>
    )
  return (
    <>
      {isStale && data.pages.length > 1 && (
        <Button
          look="accent"
          className="button accent outdated"
          onClick={() => void queries.resetQueries(query)}
        >
          <RefreshCw size={14} aria-hidden /> The list has changed
        </Button>
      )}
      <TaskList tasks={tasks} selection={selection} onEnd={onEnd} scrollTo={scrollTo} />
      {hasNextPage && <Loading rows={2} />}
      {selection.selected.size > 0 && (
        <Acting>
          <BulkBar
            ids={[...selection.selected]}
            everything={hasNextPage ? () => tasksOf(filter) : undefined}
            onDone={() => selection.select([])}
          />
        </Acting>
      )}
    </>
  )
}

async function* tasksOf(filter: ListFilter): AsyncGenerator<BulkTask, void, undefined> {
  let page = await taskPage(baton.listPage, filter)
  for (;;) {
    for (const { id } of page.items) yield { id }
    if (!page.next) return
    page = await taskPage(baton.listPage, filter, page.next)
  }
}
