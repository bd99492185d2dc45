import type { Json } from '../../core/values/json.ts'
import type { IndexEntry, IndexRange } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'

/**
 * A round reads a part of an index range and records where it stopped; the next round goes on there. So each round costs
 * the same however much waits, and every entry is read in some round. At the end of the range the next round begins anew.
 */

const PAGE_ENTRIES = 500
/** A cursor that no round has moved for a week begins anew. */
const CURSOR_TTL_MS = 7 * 86_400_000

/** The part of a range that one round has read. */
export type RangePart = {
  readonly entries: readonly IndexEntry[]
  /** The last entry, after which the next round goes on. Undefined: the range was read to its end. */
  readonly position: IndexEntry | undefined
}

/** Reads at most `budget` entries of a range from where the last round stopped, and records where it stopped. */
export async function readFromCursor(
  system: Pick<System, 'tasks' | 'records' | 'clock'>,
  recordName: string,
  range: IndexRange,
  budget: number,
): Promise<readonly IndexEntry[]> {
  const stored = await system.records.get(recordName)
  const { entries, position } = await readAfter(system, storedPosition(stored), range, budget)
  await moveCursor(system, recordName, stored, position ?? null)
  return entries
}

/** The position that a record holds; a record may hold more. */
export function storedPosition(stored: Json | undefined): IndexEntry | undefined {
  const { id, sort } = (stored ?? {}) as Partial<IndexEntry>
  return id === undefined || sort === undefined ? undefined : { id, sort }
}

/** Reads at most `budget` entries of a range after a position, or from its start. Entries that are `known` are left out. */
export async function readAfter(
  { tasks }: Pick<System, 'tasks'>,
  position: IndexEntry | undefined,
  range: IndexRange,
  budget: number,
  known: ReadonlySet<string> = new Set(),
): Promise<RangePart> {
  const entries: IndexEntry[] = []
  let after = position
  while (entries.length < budget) {
    const limit = Math.min(PAGE_ENTRIES, budget - entries.length)
    const page = await tasks.page({ ...range, limit, ...(after && { after }) })
    entries.push(...page.entries.filter(({ id }) => !known.has(id)))
    after = page.more ? page.entries.at(-1) : undefined
    if (!after) break
  }
  return { entries, position: after && { id: after.id, sort: after.sort } }
}

/** Records what the next round needs to go on. A range that is always read in one round never gets a record. */
export async function moveCursor(
  { records, clock }: Pick<System, 'records' | 'clock'>,
  recordName: string,
  stored: Json | undefined,
  next: Json,
): Promise<void> {
  if (next === null && (stored ?? null) === null) return
  await records.put(recordName, next, clock.now() + CURSOR_TTL_MS)
}
