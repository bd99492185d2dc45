import { indexKeys } from '../../core/place/place.ts'
import type { Head } from '../../core/task/head.ts'
import type { IndexEntry, IndexPage, IndexQuery, IndexRange } from '../../ports/stores.ts'

/** One page of an index over these heads. */
export function pageOf(heads: Iterable<Head>, query: IndexQuery): IndexPage {
  const entries = entriesAfter(entriesIn(heads, query).sort(byPosition), query)
  return { entries: entries.slice(0, query.limit), more: entries.length > query.limit }
}

/** The entries in a range of an index over these heads, in no order. */
export function entriesIn(heads: Iterable<Head>, range: IndexRange): IndexEntry[] {
  const entries: IndexEntry[] = []
  for (const task of heads) {
    const sort = sortIn(task, range)
    if (sort !== undefined) entries.push({ id: task.id, sort })
  }
  return entries
}

function sortIn(task: Head, { index, partition, from, to }: IndexRange): number | string | undefined {
  const key = indexKeys(task)[index]
  if (key?.partition !== partition) return undefined
  if (from !== undefined && key.sort < from) return undefined
  if (to !== undefined && key.sort > to) return undefined
  return key.sort
}

function entriesAfter(entries: readonly IndexEntry[], { after, descending }: IndexQuery): IndexEntry[] {
  const ordered = descending ? entries.toReversed() : [...entries]
  if (!after) return ordered
  return ordered.filter(entry => (descending ? byPosition(entry, after) < 0 : byPosition(entry, after) > 0))
}

function byPosition(a: IndexEntry, b: IndexEntry): number {
  return compared(a.sort, b.sort) || compared(a.id, b.id)
}

function compared(a: number | string, b: number | string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
