import { infiniteQueryOptions, QueryClient, type QueryKey, queryOptions } from '@tanstack/react-query'
import type { ApiFailureGroup } from '../../shared/api/diagnosis/failures.ts'
import type { WhyAnswer } from '../../shared/api/diagnosis/why.ts'
import { whyPath } from '../../shared/api/paths.ts'
import type { Page } from '../../shared/api/scalars.ts'
import type { ApiTask, ListFilter } from '../../shared/api/tasks.ts'
import { ask, baton, isStatus } from './baton.ts'

/**
 * What pages ask the API. The first member of a key names a kind of answer; `live.ts` says which events change which kinds. No
 * question is asked more often than every `PACE_MS`.
 */

export const PACE_MS = 2_000
/** A type may be without events, so what is open is also asked again after this time. */
const OPEN_MS = 5_000
/** What hardly changes is asked again after this time. */
const SLOW_MS = 15_000
const PAGE_TASKS = 50
const PAGE_MAX = 100

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: PACE_MS,
      // The browser's opinion about the network says nothing about an API on this machine.
      networkMode: 'always',
      retry: (failures, error) => failures < 2 && (isStatus(error, 0) || isStatus(error, 503)),
      retryDelay: PACE_MS,
    },
    mutations: { networkMode: 'always' },
  },
})

export const taskQuery = (id: string) =>
  queryOptions({
    queryKey: ['task', id],
    queryFn: () => baton.get(id),
    refetchInterval: ({ state: { data } }) => (data?.finishedAt === undefined ? OPEN_MS : SLOW_MS),
  })

/** It is asked again when the task's status changes, and while the task is open. */
export const whyQuery = ({ id, status, statusReason, finishedAt }: ApiTask) =>
  queryOptions({
    queryKey: ['why', id, status, statusReason],
    queryFn: () => ask<WhyAnswer>(whyPath(id)),
    refetchInterval: finishedAt === undefined ? OPEN_MS : false,
  })

export const tasksQuery = (filter: ListFilter) =>
  infiniteQueryOptions({
    queryKey: ['tasks', filter],
    queryFn: ({ pageParam }) =>
      baton.listPage({
        limit: PAGE_TASKS,
        ...filter,
        ...(pageParam !== undefined && { cursor: pageParam }),
      }),
    ...listed,
  })

/**
 * A list whose further pages a reader has loaded is not read again by itself, because that would read each of its pages. It only
 * counts as outdated, and the page offers to begin again.
 */
const listed = {
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page: { readonly nextCursor?: string }) => page.nextCursor,
  staleTime: Number.POSITIVE_INFINITY,
  refetchInterval: (list: List) => (isShort(list) ? OPEN_MS : false),
  refetchOnMount: isShort,
  refetchOnWindowFocus: isShort,
}

type List = { readonly state: { readonly data: unknown } }

function isShort({ state: { data } }: List): boolean {
  const { pages } = (data ?? {}) as { readonly pages?: readonly unknown[] }
  return (pages?.length ?? 0) <= 1
}

/** Has the answers whose keys begin so asked again: those on screen now, and others when they are shown. */
export function renew(queryKey: QueryKey = []): void {
  void queries.invalidateQueries({ queryKey, refetchType: 'active', predicate: isShort })
  void queries.invalidateQueries({ queryKey, refetchType: 'none', predicate: query => !isShort(query) })
}

export const typesQuery = queryOptions({
  queryKey: ['types'],
  queryFn: () => allPages(cursor => baton.types({ limit: PAGE_MAX, ...cursor })),
  refetchInterval: SLOW_MS,
})

export const typeQuery = (type: string) =>
  queryOptions({ queryKey: ['type', type], queryFn: () => baton.type(type) })

export const countsQuery = (type: string) =>
  queryOptions({ queryKey: ['counts', type], queryFn: () => baton.counts(type), refetchInterval: OPEN_MS })

export const canvasQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['canvas', id],
    queryFn: ({ pageParam }) =>
      baton.canvas(id, { limit: PAGE_MAX, ...(pageParam !== undefined && { cursor: pageParam }) }),
    ...listed,
  })

export const failuresQuery = queryOptions({
  queryKey: ['failures'],
  queryFn: () => ask<Page<ApiFailureGroup>>(`/v1/failures?limit=${PAGE_MAX}`),
  refetchInterval: SLOW_MS,
})

export const schedulesQuery = queryOptions({
  queryKey: ['schedules'],
  queryFn: () => allPages(cursor => baton.schedules({ limit: PAGE_MAX, ...cursor })),
  refetchInterval: SLOW_MS,
})

export const workersQuery = queryOptions({
  queryKey: ['workers'],
  queryFn: () => allPages(cursor => baton.workers({ limit: PAGE_MAX, ...cursor })),
  refetchInterval: SLOW_MS,
})

/** Reads short lists whole: types, schedules and workers. */
async function allPages<Item>(read: (cursor: { cursor?: string }) => Promise<Page<Item>>): Promise<Item[]> {
  const items: Item[] = []
  let next: { cursor?: string } | undefined = {}
  while (next) {
    const page: Page<Item> = await read(next)
    items.push(...page.items)
    next = page.nextCursor === undefined ? undefined : { cursor: page.nextCursor }
  }
  return items
}
