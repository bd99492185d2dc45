import type { WorkerChange } from '../../../core/events/events.ts'
import { GONE_WORKER_KEPT_MS, WORKER_LIFE_MS, type Worker } from '../../../core/worker.ts'
import type { Clock } from '../../../ports/machine.ts'
import type { WorkerStore } from '../../../ports/stores.ts'
import type { AttributeValue, Documents, Item, RequestOf } from '../documents.ts'
import { bodyFromItem, namesOf, pagesOf, readAll, SCHEMA, ttlSeconds } from '../documents.ts'
import { GONE_WORKERS_PARTITION, WORKERS_PARTITION } from '../keys.ts'
import { getItem, ifStored, queryPartition } from '../requests.ts'

/** Registers workers in a DynamoDB table with the keys of `keys.ts`. */
export function createWorkerStore(
  documents: Documents,
  { table, clock }: { readonly table: string; readonly clock: Pick<Clock, 'now'> },
): WorkerStore {
  return {
    announce: async worker => {
      await documents.put(putWorker(table, worker))
    },
    leave: async worker => {
      const { isWritten } = await documents.delete(deleteWorker(table, worker))
      if (isWritten) await documents.put(putGoneWorker(table, worker))
    },
    get: async workerId => {
      const item = await documents.get(getWorker(table, workerId))
      return item && workerFromItem(item, clock.now() - WORKER_LIFE_MS)
    },
    list: async () => {
      const items = await readAll(documents, listWorkers(table))
      return items.flatMap(item => workerFromItem(item, clock.now() - WORKER_LIFE_MS) ?? [])
    },
    // A worker that is present comes later, and so replaces what is kept of its last incarnation.
    listAll: async () => {
      const partitions = [GONE_WORKERS_PARTITION, WORKERS_PARTITION]
      const found = await Promise.all(partitions.map(one => readAll(documents, listWorkers(table, one))))
      const since = clock.now() - GONE_WORKER_KEPT_MS
      const workers = found.flat().flatMap(item => workerFromItem(item, since) ?? [])
      return [...new Map(workers.map(worker => [worker.workerId, worker])).values()]
    },
    dropSilent: async (since, limit) => {
      const silent: Item[] = []
      for await (const { items } of pagesOf(documents, listWorkers(table))) {
        silent.push(...items.filter(({ seen }) => (seen as number) < since))
        if (silent.length >= limit) break
      }
      const first = silent.slice(0, limit)
      return (await Promise.all(first.map(item => dropIfSilent(documents, table, item)))).flat()
    },
  }
}

/** Removes a worker unless it was seen since `item` was read. Returns the id of a removed worker. */
async function dropIfSilent(documents: Documents, table: string, item: Item): Promise<string[]> {
  const workerId = item.sk as string
  await documents.put(putGoneWorker(table, bodyFromItem(item) as unknown as Worker))
  const request = deleteSilentWorker(table, workerId, item.seen as number)
  return (await documents.delete(request)).isWritten ? [workerId] : []
}

const NOTHING_THERE = 'attribute_not_exists(#pk)'
const STARTED_NO_LATER = '#started <= :started'
const OTHER_KIND = '#kind <> :kind'
const GONE = '#seen <= :gone'

/**
 * Records a worker. Guard: of two standalone workers with one id, the one that started first is about to stop. It does not replace the
 * record of the other, unless the other is gone.
 */
export function putWorker(table: string, worker: Worker): RequestOf<'put'> {
  const put = { TableName: table, Item: workerItem(worker) }
  if (worker.kind !== 'standalone') return put
  return {
    ...put,
    ConditionExpression: [NOTHING_THERE, STARTED_NO_LATER, OTHER_KIND, GONE].join(' OR '),
    ExpressionAttributeNames: namesOf('pk', 'started', 'kind', 'seen'),
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
): RequestOf<'delete'> {
  return { TableName: table, Key: workerKey(workerId), ...ifStored({ started: startedAt }) }
}

/** Removes a silent worker. Guard: it has shown no sign of life since it was read. */
export function deleteSilentWorker(table: string, workerId: string, lastSeen: number): RequestOf<'delete'> {
  return { TableName: table, Key: workerKey(workerId), ...ifStored({ seen: lastSeen }) }
}

/** Reads a worker. Strongly consistent. */
export function getWorker(table: string, workerId: string): RequestOf<'get'> {
  return getItem(table, workerKey(workerId))
}

/** Keeps a worker that is gone. No guard: the last incarnation of an id replaces the one before. */
export function putGoneWorker(table: string, worker: Worker): RequestOf<'put'> {
  return { TableName: table, Item: { ...workerItem(worker), pk: GONE_WORKERS_PARTITION } }
}

function workerKey(workerId: string) {
  return { pk: WORKERS_PARTITION, sk: workerId }
}

/** Reads all workers by id, those that are present or those that are gone. Strongly consistent. */
export function listWorkers(table: string, partition = WORKERS_PARTITION): RequestOf<'query'> {
  return { ...queryPartition(table, partition), ConsistentRead: true }
}

export function workerItem(worker: Worker): Item {
  return {
    pk: WORKERS_PARTITION,
    sk: worker.workerId,
    ...SCHEMA,
    kind: worker.kind,
    started: worker.startedAt,
    seen: worker.lastSeen,
    json: JSON.stringify(worker),
    ttl: ttlSeconds(worker.lastSeen + GONE_WORKER_KEPT_MS),
  }
}

/** The worker in an item; undefined when it was last seen at `since` or before. */
function workerFromItem(item: Item, since: number): Worker | undefined {
  return (item.seen as number) > since ? (bodyFromItem(item) as unknown as Worker) : undefined
}

/** The members of a stream record that this file reads. `ApproximateCreationDateTime` is in seconds since the epoch. */
type StreamRecord = {
  readonly eventName?: string | undefined
  readonly dynamodb?:
    | {
        readonly Keys?: Readonly<Record<string, AttributeValue>> | undefined
        readonly NewImage?: Readonly<Record<string, AttributeValue>> | undefined
        readonly SequenceNumber?: string | undefined
        readonly ApproximateCreationDateTime?: number | undefined
      }
    | undefined
}

/** The change that a record shows: a worker joined or left the registry. Undefined for all other records, such as a sign of life. */
export function workerChangeIn({ eventName, dynamodb = {} }: StreamRecord): WorkerChange | undefined {
  const { Keys, NewImage, SequenceNumber: position = '', ApproximateCreationDateTime = 0 } = dynamodb
  const workerId = Keys?.sk?.S
  if (Keys?.pk?.S !== WORKERS_PARTITION || workerId === undefined) return undefined
  if (eventName === 'INSERT') {
    return { type: 'worker.joined', workerId, at: Number(NewImage?.seen?.N ?? 0), position }
  }
  if (eventName !== 'REMOVE') return undefined
  return { type: 'worker.left', workerId, at: Math.round(ApproximateCreationDateTime * 1_000), position }
}
