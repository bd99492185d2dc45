import type { IndexEntry, IndexRange, TaskStore } from '../../ports/stores.ts'

/** An entry, with the number of the merged range that it came from. */
export type MergedEntry = IndexEntry & { readonly range: number }

type Source = {
  readonly range: IndexRange
  readonly number: number
  readonly buffer: IndexEntry[]
  last: IndexEntry | undefined
  more: boolean
}

export type MergeOptions = {
  readonly pageSize: number
  readonly descending?: boolean
  /** Continue after this entry. Its sort key must be a whole number. */
  readonly after?: MergedEntry | undefined
}

/**
 * Merges the entries of several partitions into one order, read page by page. Entries are sorted by their sort key. Among
 * equal keys, those of an earlier range come first; within a range, the index's order holds.
 *
 * So one entry marks a position in all ranges, whatever order the index keeps among equal keys. Ranges may be added at the
 * end between two pages.
 */
export async function* mergeRanges(
  tasks: TaskStore,
  ranges: readonly IndexRange[],
  options: MergeOptions,
): AsyncGenerator<MergedEntry, void, undefined> {
  const sources = ranges.map((range, number) => sourceOf(range, number, options))
  await Promise.all(sources.map(source => fill(tasks, source, options)))
  for (;;) {
    const next = foremost(sources, options.descending ?? false)
    const entry = next?.buffer.shift()
    if (!next || !entry) return
    yield { ...entry, range: next.number }
    if (next.buffer.length === 0) await fill(tasks, next, options)
  }
}

/**
 * Returns a source that begins where the reader continues. The ranges before that of `after` have no entries left
 * with the sort key of `after`; the ranges behind it still have all of them.
 */
function sourceOf(range: IndexRange, number: number, { after, descending }: MergeOptions): Source {
  const fresh = { range, number, buffer: [], last: undefined, more: true }
  if (!after) return fresh
  const { id, sort } = after
  if (number === after.range) return { ...fresh, last: { id, sort } }
  const step = descending ? -1 : 1
  const start = number < after.range ? Number(sort) + step : Number(sort)
  return { ...fresh, range: beginningAt(range, start, descending ?? false) }
}

function beginningAt(range: IndexRange, start: number, descending: boolean): IndexRange {
  return descending
    ? { ...range, to: Math.min(start, Number(range.to ?? start)) }
    : { ...range, from: Math.max(start, Number(range.from ?? start)) }
}

async function fill(tasks: TaskStore, source: Source, { pageSize, descending }: MergeOptions): Promise<void> {
  while (source.more && source.buffer.length === 0) {
    const page = await tasks.page({
      ...source.range,
      limit: pageSize,
      ...(descending && { descending }),
      ...(source.last && { after: source.last }),
    })
    source.buffer.push(...page.entries)
    source.last = page.entries.at(-1) ?? source.last
    source.more = page.more && page.entries.length > 0
  }
}

function foremost(sources: readonly Source[], descending: boolean): Source | undefined {
  let best: Source | undefined
  for (const source of sources) {
    if (source.buffer.length > 0 && (!best || precedes(source, best, descending))) best = source
  }
  return best
}

function precedes(one: Source, other: Source, descending: boolean): boolean {
  const [a, b] = [one.buffer[0]?.sort ?? 0, other.buffer[0]?.sort ?? 0]
  return descending ? a > b : a < b
}

/** The next `count` entries. Returns fewer at the end. */
export async function take<T>(entries: AsyncGenerator<T, void, undefined>, count: number): Promise<T[]> {
  const taken: T[] = []
  while (taken.length < count) {
    const next = await entries.next()
    if (next.done) break
    taken.push(next.value)
  }
  return taken
}
