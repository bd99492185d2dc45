import type { Page } from '../../shared/api/scalars.ts'
import type { ApiTask, ListFilter } from '../../shared/api/tasks.ts'

/** The API merges the lists of at most this many types. Lists side by side are read by several functions at the same time. */
const LISTED_TYPES_MAX = 10
const PAGE_TASKS = 50

/** A part of a long list: some types, what was read of them and is not shown yet, and where the rest begins. */
type Part = {
  readonly type: readonly string[]
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
  while (items.length < PAGE_TASKS) {
    parts = await Promise.all(parts.map(part => filled(read, filter, part)))
    const [first] = parts.filter(({ waiting }) => waiting.length > 0).sort((a, b) => inOrder(filter, a, b))
    if (!first) break
    const [task, ...waiting] = first.waiting
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

function partsOf({ type: given = [] }: ListFilter): Part[] {
  const type = [given].flat()
  const count = listsOf({ type: given })
  return Array.from({ length: count }, (_, nth) => ({
    type: type.slice(nth * LISTED_TYPES_MAX, (nth + 1) * LISTED_TYPES_MAX),
    waiting: [],
    isRead: false,
  }))
}

/** The part with a task to show, unless it has no more. A page of the API may be empty and lead to another one. */
async function filled(read: ReadList, filter: ListFilter, part: Part): Promise<Part> {
  let present = part
  while (present.waiting.length === 0 && !present.isRead) {
    const { items, nextCursor } = await read({
      ...filter,
      ...(present.type.length > 0 && { type: [...present.type] }),
      limit: PAGE_TASKS,
      ...(present.cursor !== undefined && { cursor: present.cursor }),
    })
    present = {
      type: present.type,
      waiting: items,
      isRead: nextCursor === undefined,
      ...(nextCursor !== undefined && { cursor: nextCursor }),
    }
  }
  return present
}

function inOrder({ order = '-created' }: ListFilter, a: Part, b: Part): number {
  const [one, other] = [a, b].map(({ waiting: [task] }) => (task ? timeOf(task, order) : ''))
  const ascending = (one ?? '') < (other ?? '') ? -1 : 1
  return order.startsWith('-') ? -ascending : ascending
}

/** The time by which a list of this order is sorted. ISO times sort as texts. */
function timeOf(task: ApiTask, order: string): string {
  if (order.endsWith('created')) return task.createdAt
  return (order.endsWith('ended') ? task.finishedAt : undefined) ?? task.dueAt
}
