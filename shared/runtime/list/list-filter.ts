import type { Task } from '../../core/task/task.ts'
import { defined } from '../../core/values/defined.ts'
import type { IndexRange } from '../../ports/stores.ts'

/**
 * Filters that narrow a list beyond the index that it reads. Each page examines a bounded number of tasks and leaves out those that
 * do not fit. So a page may be short or empty, and its cursor still leads to the rest.
 */
export type ListFilter = {
  /** Tasks from this time on, by the time that the order sorts by. */
  readonly since?: number
  /** Tasks before this time. */
  readonly until?: number
  /** Tags as `name:value`; a task has all of them. */
  readonly tags?: readonly string[]
  /** Text in the name or the message of the task's error, in upper or lower case. */
  readonly error?: string
}

/** Whether the task passes the filter. `sort` is its time in the order of the list. */
export function passes(
  { tags = {}, error }: Task,
  sort: number,
  {
    since = Number.NEGATIVE_INFINITY,
    until = Number.POSITIVE_INFINITY,
    tags: wanted = [],
    error: text,
  }: ListFilter,
): boolean {
  if (sort < since || sort >= until) return false
  const own = new Set(Object.entries(tags).map(([name, value]) => `${name}:${value}`))
  if (!wanted.every(tag => own.has(tag))) return false
  if (text === undefined) return true
  return error !== undefined && `${error.name}: ${error.message}`.toLowerCase().includes(text.toLowerCase())
}

/** The range, bounded by the times of the filter as well. The sort keys of the range must be the times of the list's order. */
export function withinTimes(range: IndexRange, { since, until }: ListFilter): IndexRange {
  const from = [Number(range.from ?? Number.NEGATIVE_INFINITY), since ?? Number.NEGATIVE_INFINITY]
  const to = [Number(range.to ?? Number.POSITIVE_INFINITY), (until ?? Number.POSITIVE_INFINITY) - 1]
  return { ...range, ...defined({ from: finite(Math.max(...from)), to: finite(Math.min(...to)) }) }
}

function finite(bound: number): number | undefined {
  return Number.isFinite(bound) ? bound : undefined
}

/** The filter as part of the name of a query, to which a cursor belongs. */
export function filterName({ since, until, tags = [], error }: ListFilter): readonly unknown[] {
  return [since ?? null, until ?? null, [...tags].sort(), error ?? null]
}
