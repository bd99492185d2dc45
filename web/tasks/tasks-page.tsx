import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { RefreshCw } from 'lucide-react'
import { useCallback, useMemo, useRef, useState } from 'react'
import type { ListFilter } from '../../shared/api/tasks.ts'
import type { ApiType } from '../../shared/api/types.ts'
import { baton } from '../api/baton.ts'
import { taskPage } from '../api/merged-lists.ts'
import { queries, tasksQuery, typesQuery } from '../api/queries.ts'
import { Acting, Button } from '../parts/controls.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { counted } from '../parts/format.ts'
import { Answer, Empty, Loading, Page, Unanswered } from '../parts/page.tsx'
import { type BulkAction, type BulkTask, startBulk } from './bulk.tsx'
import type { TaskFilter } from './filter.ts'
import { FilterBar } from './filter-bar.tsx'
import { TaskList, useSelection } from './task-list.tsx'

const route = getRouteApi('/tasks')

/** The list of tasks, live as long as its first page is shown. */
export function TasksPage() {
  const filter = route.useSearch()
  return (
    <Page title="Tasks">
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

type Verb = Omit<BulkAction, 'tasks'> & { readonly explanation: string }

const VERBS: readonly Verb[] = [
  {
    verb: 'Retry',
    run: (id, expected) => baton.retry(id, expected),
    isHarmless: true,
    explanation:
      'Each task that has ended starts over with a fresh retry budget. An open task is left as it is.',
  },
  {
    verb: 'Cancel',
    run: (id, expected) => baton.cancel(id, expected),
    isHarmless: false,
    explanation:
      'Open tasks stop, and running handlers get the signal to stop. The tasks keep their records and can be retried.',
  },
  {
    verb: 'Remove',
    run: (id, expected) => baton.remove(id, expected),
    isHarmless: false,
    explanation:
      'The tasks never run again, running handlers get the signal to stop, and the records are deleted. This cannot be undone.',
  },
]

type BulkBarProps = {
  readonly ids: readonly string[]
  /** Lists all tasks of the filter; undefined when the selection holds all of them. */
  readonly everything: (() => AsyncIterable<BulkTask>) | undefined
  readonly onDone: () => void
}

/** What can be done with the selected tasks, or with all tasks of the filter. */
function BulkBar({ ids, everything, onDone }: BulkBarProps) {
  const [asked, setAsked] = useState<Verb>()
  const [isAll, setAll] = useState(false)
  const subject = isAll && everything ? 'all matching tasks' : counted(ids.length, 'task')
  const begin = (verb: Verb) => {
    onDone()
    void startBulk({ ...verb, tasks: isAll && everything ? everything() : ids.map(id => ({ id })) })
  }
  return (
    <section className="bulk-bar" aria-label="Actions on the selection">
      <span>
        {subject}
        {everything && (
          <button type="button" className="link-button" onClick={() => setAll(!isAll)}>
            {isAll ? 'only the selected' : 'all matching'}
          </button>
        )}
      </span>
      {VERBS.map(verb => (
        <Button
          key={verb.verb}
          look={verb.verb === 'Remove' ? 'danger' : 'plain'}
          text={verb.verb}
          onClick={() => setAsked(verb)}
        />
      ))}
      <Button look="quiet" text="Clear" onClick={onDone} />
      {asked && (
        <Confirm
          title={`${asked.verb} ${subject}?`}
          action={asked.verb}
          isDanger={asked.verb === 'Remove'}
          onConfirm={() => begin(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>{asked.explanation}</p>
          {!asked.isHarmless && <p className="soft">It begins after 5 seconds, in which it can be undone.</p>}
        </Confirm>
      )}
    </section>
  )
}
