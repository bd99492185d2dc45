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

/** A question, with the pace at which it is asked again. */
function question<Data>(
  queryKey: QueryKey,
  queryFn: () => Promise<Data>,
  pace: Pace<Data | undefined>,
  restMs = 0,
) {
  return queryOptions({ queryKey, queryFn, ...paced(pace, restMs) })
}

export const taskQuery = (id: string) =>
  question(
    ['task', id],
    () => baton.get(id),
    task => (task?.finishedAt === undefined ? OPEN_MS : SLOW_MS),
  )

/** It is asked again when the task's status changes, and while the task is open. */
export const whyQuery = ({ id, status, statusReason, finishedAt }: ApiTask) =>
  question(
    ['why', id, status, statusReason],
    () => baton.why(id),
    () => (finishedAt === undefined ? OPEN_MS : undefined),
  )

/** Why a member of a canvas waits, also one that is not published yet. */
export const whyMemberQuery = (id: string, canvasId: string) =>
  question(['why', id, canvasId], () => baton.why(id, { canvasId }), OPEN_MS)

/**
 * A list whose further pages a reader has loaded is not read again by itself, because that would read each of its pages. It only
 * counts as outdated, and the page offers to begin again.
 */
const listed = {
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page: { readonly nextCursor?: string }) => page.nextCursor,
  staleTime: Number.POSITIVE_INFINITY,
  refetchOnMount: isShort,
  refetchOnWindowFocus: isShort,
}

/** A list that a reader reads page by page. */
export function list<Answer extends { readonly nextCursor?: string }>(
  queryKey: QueryKey,
  read: (page: PageParameters) => Promise<Answer>,
  pace = OPEN_MS,
) {
  const queryFn = ({ pageParam }: { readonly pageParam: string | undefined }) => read(pageAt(pageParam))
  return infiniteQueryOptions({ queryKey, queryFn, ...listed, ...paced(pace) })
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

export const typesQuery = question(['types'], () => allPages(page => baton.types(page)), SLOW_MS)

export const typeQuery = (type: string) => question(['type', type], () => baton.type(type), SLOW_MS)

/** The counts of all types, each up to `COUNTED_MAX`. */
export const allCountsQuery = question(
  ['counts'],
  () => allPages<TypeCounts>(page => ask(`/v1/counts?${parameters({ atMost: COUNTED_MAX, ...page })}`)),
  all => paceOfCounts(all?.map(({ counts }) => counts) ?? []),
  OPEN_MS,
)

/** The counts of one type, each up to `COUNTED_MAX`. */
export const countsQuery = (type: string) =>
  question(
    ['counts', type],
    () => ask<Counts>(`${pathOf('getType', type)}/counts?${parameters({ atMost: COUNTED_MAX })}`),
    counts => paceOfCounts(counts ? [counts] : []),
  )

/** The whole counts of a type. They cost some 10 read units for each thousand tasks, so only a reader asks for them. */
export const exactCountsQuery = (type: string) =>
  queryOptions({ queryKey: ['exact-counts', type], queryFn: () => baton.counts(type), enabled: false })

function paceOfCounts(counts: readonly Counts[]): number {
  const isMany = counts.some(one => Object.values(one).some(count => count >= COUNTED_MAX))
  return isMany ? MANY_COUNTS_MS : OPEN_MS
}

/** What the tasks of all types did in the last hour. */
export const allActivityQuery = question(['activity'], allActivity, ACTIVITY_MS)

async function allActivity() {
  const span = { from: '', to: '' }
  const items = await allPages<ActivityPage['items'][number]>(async page => {
    const { from, to, ...answer } = await ask<ActivityPage>(`/v1/activity?${parameters(page)}`)
    Object.assign(span, { from, to })
    return answer
  })
  return { ...span, items }
}

export const activityQuery = (type: string) =>
  question(['activity', type], () => ask<ActivityPage>(`/v1/activity?${parameters({ type })}`), ACTIVITY_MS)

/** So many due tasks are examined for what waits for a limit. */
export const EXAMINED_MAX = 100

/** How much of a type's limits is used, each for the value of its own key, and what waits for them. */
export const limitUsageQuery = (type: string, values: LimitUsageQuery) => {
  const path = `${pathOf('getType', type)}/limits?${parameters({ waiting: EXAMINED_MAX, ...values })}`
  return question(['limits', type, values], () => ask<LimitUsage>(path), OPEN_MS)
}

/** What the system would cost on AWS. Only the local system knows; null elsewhere. */
export const costQuery = metered<Cost>(['cost'], '/local/cost', SLOW_MS)

/** What one task would cost on AWS. Null where nothing meters. */
export const taskCostQuery = ({ id, finishedAt }: ApiTask) =>
  metered<TaskCost>(
    ['task-cost', id],
    `/local/cost?${parameters({ task: id })}`,
    finishedAt === undefined ? OPEN_MS : SLOW_MS,
  )

/** Where nothing meters, nothing is asked again. */
function metered<Answer>(queryKey: QueryKey, path: string, paceMs: number) {
  return queryOptions({
    queryKey,
    queryFn: () => askLocal<Answer>(path),
    staleTime: ({ state }: List) => (state.data === null ? Number.POSITIVE_INFINITY : PACE_MS),
    ...paced((data: unknown) => (data === null ? undefined : paceMs)),
  })
}

/** Whether the system serves a page with the reference of its API. */
export const referenceQuery = queryOptions({
  queryKey: ['reference'],
  queryFn: () => fetch('/docs', { method: 'HEAD', headers: { accept: '*/*' } }).then(({ ok }) => ok),
  staleTime: Number.POSITIVE_INFINITY,
})

/** Lines of a log that a page keeps. */
const LOG_LINES_MAX = 1_000

/** The log of a running task. Each answer adds the lines that have come since. */
export const logQuery = (id: string) => question(['log', id], () => logOf(id), PACE_MS)

async function logOf(id: string): Promise<TaskLog> {
  const known = queries.getQueryData<TaskLog>(['log', id])
  const news = await baton.log(id, known && { after: known.next })
  return { ...news, lines: [...(known?.lines ?? []), ...news.lines].slice(-LOG_LINES_MAX) }
}

/** A bulk operation of the server, followed until it is over. */
export const bulkQuery = (id: string) =>
  question(
    ['bulk', id],
    () => baton.bulk(id),
    bulk => (bulk?.state === 'finished' ? undefined : PACE_MS),
  )

export const bulksQuery = question(['bulks'], () => ask<Page<ApiBulk>>(pathOf('listBulks')), PACE_MS)

export const canvasQuery = (id: string) => list(['canvas', id], page => baton.canvas(id, page))

export const failuresQuery = question(
  ['failures'],
  () => baton.failures({ limit: PAGE_MAX }),
  ATTENTION_MS,
  OPEN_MS,
)

/** What waits for an operator, and what callers last did about it. */
export const attentionQuery = question(['attention'], () => baton.attention(), ATTENTION_MS, OPEN_MS)

export const deadLettersQuery = list(['dead-letters'], page => baton.deadLettersPage(page), SLOW_MS)

export const schedulesQuery = question(['schedules'], () => allPages(page => baton.schedules(page)), SLOW_MS)

/** One schedule with its whole task. It is not kept, so what opens to change it begins with the present text and revision. */
export const scheduleQuery = (name: string) => ({
  ...question(['schedule', name], () => baton.schedule(name), OPEN_MS),
  ...{ staleTime: 0, gcTime: 0 },
})

export const workersQuery = question(['workers'], () => allPages(page => baton.workers(page)), SLOW_MS)

type PageParameters = { readonly limit: number; readonly cursor?: string }

function pageAt(cursor: string | undefined): PageParameters {
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
