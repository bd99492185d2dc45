import { taskIdPrefix } from '../../../core/task/task.ts'
import { MARKER_LIFE_MS, type Marker } from '../../../core/worker.ts'
import type { Clock } from '../../../ports/machine.ts'
import type { MarkerQuery, Targets } from '../../../ports/stores.ts'
import type { BatchReader, Documents, Item, RequestOf } from '../documents.ts'
import { assertKnownSchema, readBatches, SCHEMA, ttlSeconds } from '../documents.ts'
import { targetPartition, workerOfTarget } from '../keys.ts'
import { ifStored, queryPartition } from '../requests.ts'

/** Stores markers of targeted tasks in a DynamoDB table with the keys of `keys.ts`. */
export function createTargets(
  documents: Documents,
  settings: Omit<BatchReader, 'documents'> & { readonly clock: Clock },
): Targets {
  const { table, clock } = settings
  return {
    mark: async marker => {
      await documents.put(putMarker(table, marker, clock.now()))
    },
    of: async (workerId, query) => {
      const { items, next } = await documents.query(queryMarkers(table, workerId, query))
      const markers = items.flatMap(item => markerFromItem(item, clock.now()) ?? [])
      return { markers, ...(next && { next: next.sk as string }) }
    },
    among: async markers => {
      const different = [...new Map(markers.map(marker => [markerName(marker), marker])).values()]
      const items = await readBatches({ documents, ...settings }, different, batchGetMarkers)
      return items.flatMap(item => markerFromItem(item, clock.now()) ?? [])
    },
    clear: async marker => {
      await documents.delete(deleteMarker(table, marker))
    },
  }
}

/** Writes a marker. No guard: a marker only says that its worker should read the task. */
export function putMarker(table: string, marker: Marker, now: number): RequestOf<'put'> {
  return { TableName: table, Item: markerItem(marker, now) }
}

/** Reads one page of a worker's markers by task id. Strongly consistent. */
export function queryMarkers(
  table: string,
  workerId: string,
  { type, after, limit }: MarkerQuery,
): RequestOf<'query'> {
  const pk = targetPartition(workerId)
  return {
    ...queryPartition(table, pk, { prefix: type === undefined ? undefined : taskIdPrefix(type) }),
    ConsistentRead: true,
    Limit: limit,
    ...(after !== undefined && { ExclusiveStartKey: { pk, sk: after } }),
  }
}

/** Reads at most 100 different markers. Eventually consistent. */
export function batchGetMarkers(table: string, markers: readonly Marker[]): RequestOf<'batchGet'> {
  return { RequestItems: { [table]: { Keys: markers.map(markerKey) } } }
}

/** A text that differs for different markers. */
export function markerName(marker: Marker): string {
  return JSON.stringify(Object.values(markerKey(marker)))
}

function markerKey({ workerId, taskId }: Marker) {
  return { pk: targetPartition(workerId), sk: taskId }
}

/** Deletes a marker. Guard: the stored marker names the same birth and revision. */
export function deleteMarker(table: string, marker: Marker): RequestOf<'delete'> {
  const { born, revision: rev } = marker
  return { TableName: table, Key: markerKey(marker), ...ifStored({ born, rev }) }
}

function markerItem({ workerId, taskId, born, revision }: Marker, now: number): Item {
  const expires = now + MARKER_LIFE_MS
  const life = { expires, ttl: ttlSeconds(expires) }
  return { pk: targetPartition(workerId), sk: taskId, ...SCHEMA, born, rev: revision, ...life }
}

/** The marker in an item; undefined when it has expired. */
function markerFromItem(item: Item, now: number): Marker | undefined {
  assertKnownSchema(item)
  if ((item.expires as number) <= now) return undefined
  return {
    workerId: workerOfTarget(item.pk as string),
    taskId: item.sk as string,
    born: item.born as string,
    revision: item.rev as number,
  }
}
