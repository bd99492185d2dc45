import type { ApiBulk, BulkBody } from '../../api/bulk.ts'
import { bulkRecord } from '../../core/record-names.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import type { Json } from '../../core/values/values.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import { sideBySide } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'

/** The records of bulk operations, which `bulk.ts` works on. */

/** What a caller asks for: the fields of `api/bulk.ts`. A replay has no statuses. */
export type BulkRequest = Pick<BulkBody, 'action' | 'type' | 'error' | 'userId' | 'canvasId' | 'tags'> & {
  readonly statuses: readonly Status[]
  readonly since?: number
  readonly until?: number
  /** Whether it only counts. */
  readonly isDryRun: boolean
}

/** A bulk operation as its record keeps it, with the counts of `api/bulk.ts`. */
export type Bulk = BulkRequest &
  Pick<ApiBulk, 'id' | 'by' | 'examined' | 'selected' | 'done' | 'leftOut'> & {
    readonly askedAt: number
    readonly updatedAt: number
    readonly finishedAt?: number
    /** Set once a caller has stopped it. The job then ends it in place of its next page. */
    readonly isStopped?: true
    /** The range of the type's view that it is at. */
    readonly range: number
    /** The last entry of the page. */
    readonly after?: IndexEntry
    /** The ids of the tasks or dead letters that it works on. */
    readonly page: readonly string[]
    /** The id of the write of the record, by which its writer recognises it. */
    readonly writeId?: string
  }

/** How long the record is kept after its last change. */
export const RECORD_TTL_MS = 30 * 86_400_000
const SHOWN_MAX = 20
const READS_AT_ONCE_MAX = 10

/** Reads a bulk operation. Undefined when there is none of this id, or when its record has expired. */
export async function readBulk({ records }: Pick<System, 'records'>, id: string): Promise<Bulk | undefined> {
  return (await records.get(bulkRecord(id))) as Bulk | undefined
}

/** Reads the last bulk operations of all types, latest first. Their ids sort by time. */
export async function lastBulks({ types, records }: Pick<System, 'types' | 'records'>): Promise<Bulk[]> {
  const ids = (await types.list()).flatMap(({ lastBulks = [] }) => lastBulks).toSorted()
  const shown = ids.toReversed().slice(0, SHOWN_MAX)
  const found = await sideBySide(shown, READS_AT_ONCE_MAX, id => readBulk({ records }, id))
  return found.filter(bulk => bulk !== undefined)
}

/** Stops a bulk operation before its next page. Undefined when there is none of this id. One that has ended stays as it is. */
export async function stopBulk(
  system: Pick<System, 'records' | 'clock'>,
  id: string,
): Promise<Bulk | undefined> {
  const bulk = await readBulk(system, id)
  if (!bulk || bulk.isStopped || bulk.finishedAt !== undefined) return bulk
  const stopped: Bulk = { ...bulk, isStopped: true }
  const expiresAt = system.clock.now() + RECORD_TTL_MS
  const isWritten = await system.records.replace(bulkRecord(id), stopped as Json, bulk as Json, expiresAt)
  return isWritten ? stopped : stopBulk(system, id)
}

/** The bulk operation as it is at its end. */
export function finished(bulk: Bulk, now: number): Bulk {
  return { ...bulk, updatedAt: now, page: [], finishedAt: now }
}

/** Replaces the record by its next form, and returns what is stored then. Undefined when another receiver of the message was faster. */
export async function replaceBulk(
  { records }: Pick<System, 'records'>,
  seen: Bulk,
  next: Bulk,
): Promise<Bulk | undefined> {
  const expiresAt = next.updatedAt + RECORD_TTL_MS
  if (await records.replace(bulkRecord(seen.id), next as Json, seen as Json, expiresAt)) return next
  const stored = await readBulk({ records }, seen.id)
  // The write may have been sent again after a lost answer, and was then refused because of itself.
  if (stored?.writeId === next.writeId) return stored
  // A stop changes nothing else, so what was done meanwhile counts.
  const isOnlyStopped = stored?.isStopped && !seen.isStopped && stored.writeId === seen.writeId
  if (!stored || !isOnlyStopped) return undefined
  return replaceBulk({ records }, stored, finished({ ...next, isStopped: true }, next.updatedAt))
}
