import type { InfiniteData } from '@tanstack/react-query'
import type { ApiEvent } from '../../shared/api/events.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import type { TaskPage } from './merged-lists.ts'
import { queries } from './queries.ts'

/** A list that a reader has scrolled down is not read again. Its rows get their new statuses from the events. */
export function patchRows(statuses: ReadonlyMap<string, ApiEvent['status']>): void {
  if (statuses.size === 0) return
  queries.setQueriesData<InfiniteData<TaskPage>>({ queryKey: ['tasks'] }, data =>
    data && hasRowOf(data, statuses) ? patched(data, statuses) : data,
  )
}

type Statuses = ReadonlyMap<string, ApiEvent['status']>

function hasRowOf({ pages }: InfiniteData<TaskPage>, statuses: Statuses): boolean {
  return pages.some(({ items }) => items.some(({ id }) => statuses.has(id)))
}

function patched(data: InfiniteData<TaskPage>, statuses: Statuses): InfiniteData<TaskPage> {
  return {
    ...data,
    pages: data.pages.map(page => ({ ...page, items: page.items.map(row => rowWith(row, statuses)) })),
  }
}

function rowWith(row: ApiTask, statuses: Statuses): ApiTask {
  const status = statuses.get(row.id)
  if (status === undefined || status === row.status) return row
  const { statusReason: _outdated, ...rest } = row
  return { ...rest, status }
}
