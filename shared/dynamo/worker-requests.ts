import type { DeleteCommandInput, PutCommandInput, QueryCommandInput } from '@aws-sdk/lib-dynamodb'
import type { Worker } from '../core/worker.ts'
import { WORKERS_PARTITION } from './keys.ts'
import { METERED } from './sending.ts'
import { workerItem } from './side-items.ts'
import type { Item } from './stored-form.ts'

/** No guard: the last word holds. */
export function putWorker(table: string, worker: Worker): PutCommandInput {
  return { ...METERED, TableName: table, Item: workerItem(worker) }
}

/** No guard: a worker that is still there announces itself again. */
export function deleteWorker(table: string, workerId: string): DeleteCommandInput {
  return { ...METERED, TableName: table, Key: { pk: WORKERS_PARTITION, sk: workerId } }
}

/** All workers by id, from `start` on. Strongly consistent. */
export function listWorkers(table: string, start?: Item): QueryCommandInput {
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
