import { WORKER_LIFE_MS, type Worker } from '../../../core/worker/worker.ts'
import {
  type DeleteRequest,
  type GetRequest,
  METERED,
  type PutRequest,
  type QueryRequest,
} from '../documents.ts'
import { WORKERS_PARTITION } from '../keys.ts'
import { workerItem } from '../side-items.ts'
import type { Item } from '../stored-form.ts'

const NOTHING_THERE = 'attribute_not_exists(#pk)'
const SAME_START = '#started = :started'
const STARTED_NO_LATER = '#started <= :started'
const OTHER_KIND = '#kind <> :kind'
const GONE = '#seen <= :gone'
const SEEN_LAST = '#seen = :seen'

/**
 * Records a worker. Guard: of two standalone workers with one id, the one that started first is about to stop. It does not replace the
 * record of the other, unless the other is gone.
 */
export function putWorker(table: string, worker: Worker): PutRequest {
  const put = { ...METERED, TableName: table, Item: workerItem(worker) }
  if (worker.kind !== 'standalone') return put
  return {
    ...put,
    ConditionExpression: [NOTHING_THERE, STARTED_NO_LATER, OTHER_KIND, GONE].join(' OR '),
    ExpressionAttributeNames: { '#pk': 'pk', '#started': 'started', '#kind': 'kind', '#seen': 'seen' },
    ExpressionAttributeValues: {
      ':started': worker.startedAt,
      ':kind': worker.kind,
      ':gone': worker.lastSeen - WORKER_LIFE_MS,
    },
  }
}

/** Removes a worker. Guard: the stored worker is this one, not a later one of the same id. */
export function deleteWorker(
  table: string,
  { workerId, startedAt }: Pick<Worker, 'workerId' | 'startedAt'>,
): DeleteRequest {
  return {
    ...METERED,
    TableName: table,
    Key: workerKey(workerId),
    ConditionExpression: SAME_START,
    ExpressionAttributeNames: { '#started': 'started' },
    ExpressionAttributeValues: { ':started': startedAt },
  }
}

/** Removes a silent worker. Guard: it has shown no sign of life since it was read. */
export function deleteSilentWorker(table: string, workerId: string, lastSeen: number): DeleteRequest {
  return {
    ...METERED,
    TableName: table,
    Key: workerKey(workerId),
    ConditionExpression: SEEN_LAST,
    ExpressionAttributeNames: { '#seen': 'seen' },
    ExpressionAttributeValues: { ':seen': lastSeen },
  }
}

/** Reads a worker. Strongly consistent. */
export function getWorker(table: string, workerId: string): GetRequest {
  return { ...METERED, TableName: table, Key: workerKey(workerId), ConsistentRead: true }
}

function workerKey(workerId: string) {
  return { pk: WORKERS_PARTITION, sk: workerId }
}

/** Reads all workers by id, from `start` on. Strongly consistent. */
export function listWorkers(table: string, start?: Item): QueryRequest {
  return {
    ...METERED,
    TableName: table,
    KeyConditionExpression: '#pk = :workers',
    ExpressionAttributeNames: { '#pk': 'pk' },
    ExpressionAttributeValues: { ':workers': WORKERS_PARTITION },
    ConsistentRead: true,
    ...(start && { ExclusiveStartKey: start }),
  }
}
