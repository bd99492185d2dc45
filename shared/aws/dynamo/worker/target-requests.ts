import { taskIdPrefix } from '../../../core/task/task.ts'
import type { Marker } from '../../../core/worker/worker.ts'
import type { MarkerQuery } from '../../../ports/stores.ts'
import {
  type BatchGetRequest,
  type DeleteRequest,
  METERED,
  type PutRequest,
  type QueryRequest,
} from '../documents.ts'
import { JOINED_BY_AND } from '../expressions.ts'
import { targetPartition } from '../keys.ts'
import { markerItem } from '../side-items.ts'

const SAME_BIRTH = '#born = :born'
const SAME_REVISION = '#rev = :rev'
const OF_WORKER = '#pk = :worker'
const OF_TYPE = 'begins_with(#sk, :prefix)'

/** Writes a marker. No guard: a marker only says that its worker should read the task. */
export function putMarker(table: string, marker: Marker, now: number): PutRequest {
  return { ...METERED, TableName: table, Item: markerItem(marker, now) }
}

/** Reads one page of a worker's markers by task id. Strongly consistent. */
export function queryMarkers(
  table: string,
  workerId: string,
  { type, after, limit }: MarkerQuery,
): QueryRequest {
  const pk = targetPartition(workerId)
  const ofType = type === undefined ? undefined : { ':prefix': taskIdPrefix(type) }
  return {
    ...METERED,
    TableName: table,
    KeyConditionExpression: [OF_WORKER, ...(ofType ? [OF_TYPE] : [])].join(JOINED_BY_AND),
    ExpressionAttributeNames: { '#pk': 'pk', ...(ofType && { '#sk': 'sk' }) },
    ExpressionAttributeValues: { ':worker': pk, ...ofType },
    ConsistentRead: true,
    Limit: limit,
    ...(after !== undefined && { ExclusiveStartKey: { pk, sk: after } }),
  }
}

/** Reads at most 100 different markers. Eventually consistent. */
export function batchGetMarkers(table: string, markers: readonly Marker[]): BatchGetRequest {
  return { ...METERED, RequestItems: { [table]: { Keys: markers.map(markerKey) } } }
}

/** A text that differs for different markers. */
export function markerName(marker: Marker): string {
  return JSON.stringify(Object.values(markerKey(marker)))
}

function markerKey({ workerId, taskId }: Marker) {
  return { pk: targetPartition(workerId), sk: taskId }
}

/** Deletes a marker. Guard: the stored marker names the same birth and revision. */
export function deleteMarker(table: string, marker: Marker): DeleteRequest {
  return {
    ...METERED,
    TableName: table,
    Key: markerKey(marker),
    ConditionExpression: [SAME_BIRTH, SAME_REVISION].join(JOINED_BY_AND),
    ExpressionAttributeNames: { '#born': 'born', '#rev': 'rev' },
    ExpressionAttributeValues: { ':born': marker.born, ':rev': marker.revision },
  }
}
