import { infiniteQueryOptions, QueryClient, type QueryKey, queryOptions } from '@tanstack/react-query'
import type { ApiBulk } from '../../shared/api/bulk.ts'
import type {
  ActivityPage,
  LimitUsage,
  LimitUsageQuery,
  TypeCounts,
} from '../../shared/api/diagnosis/statistics.ts'
import type { TaskLog } from '../../shared/api/diagnosis/why.ts'
import { pathOf } from '../../shared/api/endpoints.ts'
import type { Page } from '../../shared/api/scalars.ts'
import type { ApiTask, ListFilter } from '../../shared/api/tasks.ts'
import type { Counts } from '../../shared/api/types.ts'
import { ask, askLocal, baton, isStatus } from './baton.ts'
import type { Cost, TaskCost } from './cost-answers.ts'
import { listsOf, type TaskPage, taskPage } from './merged-lists.ts'
import {
  ACTIVITY_MS,
  ATTENTION_MS,
  COUNTED_MAX,
  LIST_MS,
  MANY_COUNTS_MS,
  OPEN_MS,
  PACE_MS,
  SLOW_MS,
} from './paces.ts'

/**
 * What pages ask the API. The first member of a key names a kind of answer; `live.ts` says which events change which kinds. `pace` says
 * after how long an answer on screen is asked again; `live.ts` does so.
 */

type Pace<Data> = number | ((data: Data) => number | undefined)

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: {
      readonly pace?: Pace<unknown>
      /** For this long it is not asked again, whatever happens. */
      readonly restMs?: number
    }
  }
}

function paced(pace: Pace<never>, restMs = 0) {
  return { meta: { pace: pace as Pace<unknown>, restMs } }
}

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
    ...paced((task: ApiTask | undefined) => (task?.finishedAt === undefined ? OPEN_MS : SLOW_MS)),
  })

/** It is asked again when the task's status changes, and while the task is open. */
export const whyQuery = ({ id, status, statusReason, finishedAt }: ApiTask) =>
  queryOptions({
    queryKey: ['why', id, status, statusReason],
    queryFn: () => baton.why(id),
    ...(finishedAt === undefined && paced(OPEN_MS)),
  })

/** Why a member of a canvas waits, also one that is not published yet. */
export const whyMemberQuery = (id: string, canvasId: string) =>
  queryOptions({
    queryKey: ['why', id, canvasId],
    queryFn: () => baton.why(id, { canvasId }),
    ...paced(OPEN_MS),
  })

/**
 * A list whose further pages a reader has loaded is not read again by itself, because that would read each of its pages. It only
 * counts as outdated, and the page offers to begin again.
 */
export const listed = {
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page: { readonly nextCursor?: string }) => page.nextCursor,
  staleTime: Number.POSITIVE_INFINITY,
  refetchOnMount: isShort,
  refetchOnWindowFocus: isShort,
  ...paced(OPEN_MS),
}

/** Each list of the API costs up to some 100 read units, so many of them rest longer. */
export const tasksQuery = (filter: ListFilter) =>
  infiniteQueryOptions({
    queryKey: ['tasks', filter],
    queryFn: ({ pageParam, signal }) => taskPage(page => baton.listPage(page, { signal }), filter, pageParam),
    ...listed,
    ...paced(Math.max(OPEN_MS, listsOf(filter) * LIST_MS), (listsOf(filter) - 1) * LIST_MS),
    initialPageParam: undefined as TaskPage['next'],
    getNextPageParam: (page: TaskPage) => page.next,
  })

type List = { readonly state: { readonly data: unknown } }

export function isShort({ state: { data } }: List): boolean {
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
  queryFn: () => allPages(page => baton.types(page)),
  ...paced(SLOW_MS),
})

export const typeQuery = (type: string) =>
  queryOptions({ queryKey: ['type', type], queryFn: () => baton.type(type), ...paced(SLOW_MS) })

/** The counts of all types, each up to `COUNTED_MAX`. */
export const allCountsQuery = queryOptions({
  queryKey: ['counts'],
  queryFn: () =>
    allPages<TypeCounts>(page => ask(`/v1/counts?${parameters({ atMost: COUNTED_MAX, ...page })}`)),
  ...paced(
    (all: readonly TypeCounts[] | undefined) => paceOfCounts(all?.map(({ counts }) => counts) ?? []),
    OPEN_MS,
  ),
})

/** The counts of one type, each up to `COUNTED_MAX`. */
export const countsQuery = (type: string) =>
  queryOptions({
    queryKey: ['counts', type],
    queryFn: () => ask<Counts>(`${pathOf('getType', type)}/counts?${parameters({ atMost: COUNTED_MAX })}`),
    ...paced((counts: Counts | undefined) => paceOfCounts(counts ? [counts] : [])),
  })

/** The whole counts of a type. They cost some 10 read units for each thousand tasks, so only a reader asks for them. */
export const exactCountsQuery = (type: string) =>
  queryOptions({ queryKey: ['exact-counts', type], queryFn: () => baton.counts(type), enabled: false })

function paceOfCounts(counts: readonly Counts[]): number {
  const isMany = counts.some(one => Object.values(one).some(count => count >= COUNTED_MAX))
  return isMany ? MANY_COUNTS_MS : OPEN_MS
}

/** What the tasks of all types did in the last hour. */
export const allActivityQuery = queryOptions({
  queryKey: ['activity'],
  queryFn: async () => {
    let last: ActivityPage | undefined
    const items = await allPages<ActivityPage['items'][number]>(async page => {
      last = await ask<ActivityPage>(`/v1/activity?${parameters(page)}`)
      return last
    })
    return { from: last?.from ?? '', to: last?.to ?? '', items }
  },
  ...paced(ACTIVITY_MS),
})

export const activityQuery = (type: string) =>
  queryOptions({
    queryKey: ['activity', type],
    queryFn: () => ask<ActivityPage>(`/v1/activity?${parameters({ type })}`),
    ...paced(ACTIVITY_MS),
  })

/** So many due tasks are examined for what waits for a limit. */
export const EXAMINED_MAX = 100

/** How much of a type's limits is used, each for the value of its own key, and what waits for them. */
export const limitUsageQuery = (type: string, values: LimitUsageQuery) =>
  queryOptions({
    queryKey: ['limits', type, values],
    queryFn: () =>
      ask<LimitUsage>(
        `${pathOf('getType', type)}/limits?${parameters({ waiting: EXAMINED_MAX, ...values })}`,
      ),
    ...paced(OPEN_MS),
  })

/** What the system would cost on AWS. Only the local system knows; null elsewhere. */
export const costQuery = queryOptions({
  queryKey: ['cost'],
  queryFn: () => askLocal<Cost>('/local/cost'),
  ...whereMetered(SLOW_MS),
})

/** What one task would cost on AWS. Null where nothing meters. */
export const taskCostQuery = ({ id, finishedAt }: ApiTask) =>
  queryOptions({
    queryKey: ['task-cost', id],
    queryFn: () => askLocal<TaskCost>(`/local/cost?${parameters({ task: id })}`),
    ...whereMetered(finishedAt === undefined ? OPEN_MS : SLOW_MS),
  })

/** Where nothing meters, nothing is asked again. */
function whereMetered(paceMs: number) {
  return {
    staleTime: ({ state }: List) => (state.data === null ? Number.POSITIVE_INFINITY : PACE_MS),
    ...paced((data: unknown) => (data === null ? undefined : paceMs)),
  }
}

/** Whether the system serves a page with the reference of its API. */
export const referenceQuery = queryOptions({
  queryKey: ['reference'],
  queryFn: async () => {
    const { ok } = await fetch('/docs', { method: 'HEAD', headers: { accept: '*/*' } })
    return ok
  },
  staleTime: Number.POSITIVE_INFINITY,
})

/** Lines of a log that a page keeps. */
const LOG_LINES_MAX = 1_000

/** The log of a running task. Each answer adds the lines that have come since. */
export const logQuery = (id: string) =>
  queryOptions({
    queryKey: ['log', id],
    queryFn: async (): Promise<TaskLog> => {
      const known = queries.getQueryData<TaskLog>(['log', id])
      const news = await baton.log(id, known && { after: known.next })
      return { ...news, lines: [...(known?.lines ?? []), ...news.lines].slice(-LOG_LINES_MAX) }
    },
    ...paced(PACE_MS),
  })

/** A bulk operation of the server, followed until it is over. */
export const bulkQuery = (id: string) =>
  queryOptions({
    queryKey: ['bulk', id],
    queryFn: () => baton.bulk(id),
    ...paced((bulk: ApiBulk | undefined) => (bulk?.state === 'finished' ? undefined : PACE_MS)),
  })

/** The last bulk operations of the server. */
export const bulksQuery = queryOptions({
  queryKey: ['bulks'],
  queryFn: () => ask<Page<ApiBulk>>(pathOf('listBulks')),
  ...paced(PACE_MS),
})

export const canvasQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['canvas', id],
    queryFn: ({ pageParam }) => baton.canvas(id, pageAt(pageParam)),
    ...listed,
  })

export const failuresQuery = queryOptions({
  queryKey: ['failures'],
  queryFn: () => baton.failures({ limit: PAGE_MAX }),
  ...paced(ATTENTION_MS, OPEN_MS),
})

/** What waits for an operator, and what callers last did about it. */
export const attentionQuery = queryOptions({
  queryKey: ['attention'],
  queryFn: () => baton.attention(),
  ...paced(ATTENTION_MS, OPEN_MS),
})

export const deadLettersQuery = infiniteQueryOptions({
  queryKey: ['dead-letters'],
  queryFn: ({ pageParam }) => baton.deadLettersPage(pageAt(pageParam)),
  ...listed,
  ...paced(SLOW_MS),
})

export const schedulesQuery = queryOptions({
  queryKey: ['schedules'],
  queryFn: () => allPages(page => baton.schedules(page)),
  ...paced(SLOW_MS),
})

/** One schedule with its whole task. It is not kept, so what opens to change it begins with the present text and revision. */
export const scheduleQuery = (name: string) =>
  queryOptions({
    queryKey: ['schedule', name],
    queryFn: () => baton.schedule(name),
    staleTime: 0,
    gcTime: 0,
    ...paced(OPEN_MS),
  })

export const workersQuery = queryOptions({
  queryKey: ['workers'],
  queryFn: () => allPages(page => baton.workers(page)),
  ...paced(SLOW_MS),
})

type PageParameters = { readonly limit: number; readonly cursor?: string }

export function pageAt(cursor: string | undefined): PageParameters {
  return { limit: PAGE_MAX, ...(cursor !== undefined && { cursor }) }
}

/** Reads short lists whole: types, schedules and workers. */
async function allPages<Item>(read: (page: PageParameters) => Promise<Page<Item>>): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const page: Page<Item> = await read(pageAt(cursor))
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return items
}

function parameters(given: Readonly<Record<string, string | number>>): URLSearchParams {
  return new URLSearchParams(Object.entries(given).map(([name, value]) => [name, String(value)]))
}
