import type { Page } from '../../shared/api/scalars.ts'
import type { ApiTask, ListFilter } from '../../shared/api/tasks.ts'
import { STATUSES } from '../../shared/core/states.ts'

/** The API merges the lists of at most this many types. Lists that are read side by side are read by several functions at a time. */
const LISTED_TYPES_MAX = 10
const PAGE_TASKS = 50

/** A part of a long list: some types, what was read of them and is not shown yet, and where the rest begins. */
type Part = {
  readonly filter: ListFilter
  /** Later stages follow when nothing is left of the earlier ones. */
  readonly stage: number
  readonly waiting: readonly ApiTask[]
  readonly cursor?: string
  readonly isRead: boolean
}

/** Reads one page of a list of the API. */
export type ReadList = (filter: ListFilter) => Promise<Page<ApiTask>>

export type TaskPage = {
  readonly items: readonly ApiTask[]
  /** Leads to the next page. Undefined on the last one. */
  readonly next?: readonly Part[]
}

/**
 * One page of the tasks of any number of types, in order. Up to ten types are one list of the API. The lists of more are read side by
 * side and merged here: each page costs at most one request for each ten types.
 */
export async function taskPage(
  read: ReadList,
  filter: ListFilter,
  from?: readonly Part[],
): Promise<TaskPage> {
  let parts = from ?? partsOf(filter)
  const items: ApiTask[] = []
  while (items.length < PAGE_TASKS && parts.length > 0) {
    const stage = Math.min(...parts.map(part => part.stage))
    const present = await Promise.all(parts.map(part => (part.stage === stage ? filled(read, part) : part)))
    parts = present.filter(({ waiting, isRead }) => waiting.length > 0 || !isRead)
    const [first] = parts.filter(part => part.stage === stage).sort(inOrder)
    const [task, ...waiting] = first?.waiting ?? []
    if (task) items.push(task)
    parts = parts.map(part => (part === first ? { ...part, waiting } : part))
  }
  const rest = parts.filter(({ waiting, isRead }) => waiting.length > 0 || !isRead)
  return { items, ...(rest.length > 0 && { next: rest }) }
}

/** How many lists of the API a list consists of. */
export function listsOf({ type = [] }: ListFilter): number {
  return Math.max(1, Math.ceil([type].flat().length / LISTED_TYPES_MAX))
}

function partsOf(filter: ListFilter): Part[] {
  const type = [filter.type ?? []].flat()
  const groups = Array.from({ length: listsOf(filter) }, (_, nth) =>
    type.slice(nth * LISTED_TYPES_MAX, (nth + 1) * LISTED_TYPES_MAX),
  )
  return stagesOf(filter).flatMap((narrowed, stage) =>
    groups.map(some => ({
      filter: { ...narrowed, ...(some.length > 0 && { type: some }) },
      stage,
      waiting: [],
      isRead: false,
    })),
  )
}

/** In the order of ends the delayed tasks would come first, and hide what has happened. So they come last. */
function stagesOf(filter: ListFilter): ListFilter[] {
  if (filter.status !== undefined || filter.order !== '-ended') return [filter]
  return [
    { ...filter, status: STATUSES.filter(status => status !== 'delayed') },
    { ...filter, status: ['delayed'], order: 'due' },
  ]
}

/** The part with a task to show, unless it has no more. A page of the API may be empty and lead to another one. */
async function filled(read: ReadList, part: Part): Promise<Part> {
  const { filter, stage, cursor, waiting, isRead } = part
  if (waiting.length > 0 || isRead) return part
  const from = cursor === undefined ? {} : { cursor }
  const { items, nextCursor } = await read({ ...filter, limit: PAGE_TASKS, ...from })
  const rest = nextCursor === undefined ? { isRead: true } : { isRead: false, cursor: nextCursor }
  return filled(read, { filter, stage, waiting: items, ...rest })
}

function inOrder(a: Part, b: Part): number {
  const { order = '-created' } = a.filter
  const [one, other] = [a, b].map(({ waiting: [task] }) => (task ? timeOf(task, order) : ''))
  const ascending = (one ?? '') < (other ?? '') ? -1 : 1
  return order.startsWith('-') ? -ascending : ascending
}

/** The time by which a list of this order is sorted. ISO times sort as texts. */
function timeOf(task: ApiTask, order: string): string {
  if (order.endsWith('created')) return task.createdAt
  return (order.endsWith('ended') ? task.finishedAt : undefined) ?? task.dueAt
}
