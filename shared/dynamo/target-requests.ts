import type { DeleteCommandInput, PutCommandInput, QueryCommandInput } from '@aws-sdk/lib-dynamodb'
import type { Marker } from '../core/worker.ts'
import { JOINED_BY_AND } from './expressions.ts'
import { targetPartition } from './keys.ts'
import { METERED } from './sending.ts'
import { markerItem } from './side-items.ts'

const SAME_BIRTH = '#born = :born'
const SAME_REVISION = '#rev = :rev'

/** No guard: a marker says nothing but that its task is worth a look. */
export function putMarker(table: string, marker: Marker, now: number): PutCommandInput {
  return { ...METERED, TableName: table, Item: markerItem(marker, now) }
}

/** By task id. Strongly consistent. */
export function queryMarkers(table: string, workerId: string, limit: number): QueryCommandInput {
  return {
    ...METERED,
    TableName: table,
    KeyConditionExpression: '#pk = :worker',
    ExpressionAttributeNames: { '#pk': 'pk' },
    ExpressionAttributeValues: { ':worker': targetPartition(workerId) },
    ConsistentRead: true,
    Limit: limit,
  }
}

/** Guard: still the marker that was read, and not one for a later revision. */
export function deleteMarker(
  table: string,
  { workerId, taskId, born, revision }: Marker,
): DeleteCommandInput {
  return {
    ...METERED,
    TableName: table,
    Key: { pk: targetPartition(workerId), sk: taskId },
    ConditionExpression: [SAME_BIRTH, SAME_REVISION].join(JOINED_BY_AND),
    ExpressionAttributeNames: { '#born': 'born', '#rev': 'rev' },
    ExpressionAttributeValues: { ':born': born, ':rev': revision },
  }
}
