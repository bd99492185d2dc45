import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { RefreshCw } from 'lucide-react'
import { useCallback, useMemo, useRef, useState } from 'react'
import type { SearchAnswer } from '../../shared/api/diagnosis/search.ts'
import type { ListFilter } from '../../shared/api/tasks.ts'
import type { ApiType } from '../../shared/api/types.ts'
import { searchQuery } from '../api/found.ts'
import { queries, tasksQuery, typesQuery } from '../api/queries.ts'
import { Acting, Button } from '../parts/controls.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { counted, number } from '../parts/format.ts'
import { Answer, Empty, Loading, Page, Unanswered } from '../parts/page.tsx'
import { ACTIONS, type Action, bulkOf } from './actions.ts'
import { BulkNote, startBulk } from './bulk.tsx'
import { BulkRecord } from './bulk-record.tsx'
import { type ColumnName, columnsOf, ordersOf, readTaskFilter, type TaskFilter } from './filter.ts'
import { FilterBar } from './filter-bar.tsx'
import { TaskList, useSelection } from './task-list.tsx'

const route = getRouteApi('/tasks')

/** The list of tasks, live as long as its first page is shown. */
export function TasksPage() {
  // The router passes on what the route has left out.
  const filter = readTaskFilter(route.useSearch())
  const columns = columnsOf(filter)
  const types = useQuery(typesQuery)
  return (
    <Page title="Tasks" actions={<BulkRecord />}>
      <FilterBar filter={filter} />
      {filter.q === undefined ? (
        <Answer of={types} rows={12}>
          {all => <FilteredTasks filter={listFilter(filter, all)} columns={columns} />}
        </Answer>
      ) : (
        <FoundTasks q={filter.q} columns={columns} />
      )}
    </Page>
  )
}

/** The filter as the API takes it. The lists of all types are read side by side. */
function listFilter({ columns: _shown, q: _sought, ...filter }: TaskFilter, types: readonly ApiType[]) {
  const isOwned = filter.userId !== undefined || filter.canvasId !== undefined
  const [[order] = []] = ordersOf(filter)
  return {
    ...(order && { order }),
    ...(!isOwned && { type: types.map(({ type }) => type) }),
    ...filter,
  }
}

type FilteredProps = { readonly filter: ListFilter; readonly columns: readonly ColumnName[] }

function FilteredTasks({ filter, columns }: FilteredProps) {
  const query = useInfiniteQuery(tasksQuery(filter))
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage, isStale } = query
  const tasks = useMemo(() => data?.pages.flatMap(({ items }) => items) ?? [], [data])
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])

  if (!data) return <Unanswered of={query} rows={12} />
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
      <SelectableTasks
        tasks={tasks}
        columns={columns}
        onEnd={onEnd}
        filter={hasNextPage ? filter : undefined}
      />
      {tasks.length === 0 && !hasNextPage && (
        <Empty title="No task fits">Tasks appear here when they are published. A filter may hide them.</Empty>
      )}
      {hasNextPage && <Loading rows={2} />}
    </>
  )
}

/** What a text finds. The exact matches come at once, and tags and errors by and by. */
function FoundTasks({ q, columns }: { readonly q: string; readonly columns: readonly ColumnName[] }) {
  const query = useInfiniteQuery(searchQuery(q))
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  const { tasks, matches, examined } = useMemo(() => foundIn(data?.pages ?? []), [data])
  if (!data) return <Unanswered of={query} rows={4} />
  const reached = data.pages.at(-1)?.reached
  return (
    <>
      <SelectableTasks tasks={tasks} columns={columns} matches={matches} />
      {tasks.length === 0 && (
        <Empty title={hasNextPage ? 'Nothing found so far' : 'Nothing found'}>
          No task has this id, key, user, tag or text in its error.
        </Empty>
      )}
      {isFetchingNextPage && <Loading rows={2} />}
      <p className="soft list-note isolated" role="status">
        {counted(tasks.length, 'task')} found, {number(examined)} read.{' '}
        {hasNextPage && (
          <Button
            text={reached === undefined ? 'Search tags and errors, too' : `Search on, from ${reached}`}
            disabled={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
          />
        )}
      </p>
    </>
  )
}

function foundIn(pages: readonly SearchAnswer[]) {
  const tasks = pages.flatMap(({ items }) => items)
  const matches = pages.flatMap(page => page.matches)
  return {
    tasks,
    matches: new Map(tasks.map(({ id }, nth) => [id, matches[nth] ?? ''])),
    examined: pages.reduce((sum, page) => sum + page.examined, 0),
  }
}

type SelectableProps = Pick<Parameters<typeof TaskList>[0], 'tasks' | 'columns' | 'matches'> & {
  readonly onEnd?: () => void
  /** The filter that more tasks fit; undefined when all of them are here. */
  readonly filter?: ListFilter | undefined
}

const atNoEnd = () => {}

function SelectableTasks({ filter, onEnd = atNoEnd, ...list }: SelectableProps) {
  const { tasks } = list
  const ids = useMemo(() => tasks.map(({ id }) => id), [tasks])
  const navigate = useNavigate()
  const scrollTo = useRef((_index: number) => {})
  const show = useCallback((index: number) => scrollTo.current(index), [])
  const open = useCallback(
    (id: string) => void navigate({ to: '/tasks/$id', params: { id }, search: {} }),
    [navigate],
  )
  const selection = useSelection(ids, { open, show })
  if (tasks.length === 0) return null
  return (
    <>
      <TaskList {...list} selection={selection} onEnd={onEnd} scrollTo={scrollTo} />
      {selection.selected.length > 0 && (
        <Acting>
          <BulkBar ids={selection.selected} filter={filter} onDone={() => selection.select([])} />
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
          <Button
            className="link-button"
            text={isAll ? 'only the selected' : 'all matching'}
            onClick={() => setAll(!isAll)}
          />
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
          <BulkNote onServer={all !== undefined} />
        </Confirm>
      )}
    </section>
  )
}
