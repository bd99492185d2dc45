import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
} from '@aws-sdk/lib-dynamodb'
import type { Worker } from '../../../core/worker/worker.ts'
import type { Clock } from '../../../ports/machine.ts'
import type { WorkerStore } from '../../../ports/stores.ts'
import { answerOf, conditional } from '../sending.ts'
import { workerFromItem } from '../side-items.ts'
import type { Item } from '../stored-form.ts'
import { deleteSilentWorker, deleteWorker, getWorker, listWorkers, putWorker } from './worker-requests.ts'

/** Registers workers in a DynamoDB table with the keys of `keys.ts`. */
export function createWorkerStore(
  documents: DynamoDBDocumentClient,
  { table, clock }: { readonly table: string; readonly clock: Pick<Clock, 'now'> },
): WorkerStore {
  return {
    announce: async worker => {
      await conditional(documents.send(new PutCommand(putWorker(table, worker))))
    },
    leave: async worker => {
      await conditional(documents.send(new DeleteCommand(deleteWorker(table, worker))), answerOf)
    },
    get: async workerId => {
      const { Item } = await answerOf(documents.send(new GetCommand(getWorker(table, workerId))))
      return Item && workerFromItem(Item, clock.now())
    },
    list: async () => {
      const workers: Worker[] = []
      for await (const item of allWorkers(documents, table)) {
        const worker = workerFromItem(item, clock.now())
        if (worker) workers.push(worker)
      }
      return workers
    },
    dropSilent: async (since, limit) => {
      const silent: Item[] = []
      for await (const item of allWorkers(documents, table)) {
        if ((item.seen as number) < since && silent.push(item) === limit) break
      }
      const dropped = await Promise.all(silent.map(item => dropIfSilent(documents, table, item)))
      return dropped.flat()
    },
  }
}

async function* allWorkers(documents: DynamoDBDocumentClient, table: string): AsyncGenerator<Item> {
  let start: Item | undefined
  do {
    const { Items = [], LastEvaluatedKey } = await answerOf(
      documents.send(new QueryCommand(listWorkers(table, start))),
    )
    yield* Items
    start = LastEvaluatedKey
  } while (start)
}

/** Removes a worker unless it was seen since `item` was read. Returns the id of a removed worker. */
async function dropIfSilent(documents: DynamoDBDocumentClient, table: string, item: Item): Promise<string[]> {
  const workerId = item.sk as string
  const request = deleteSilentWorker(table, workerId, item.seen as number)
  const deleted = await conditional(documents.send(new DeleteCommand(request)), answerOf)
  return 'answer' in deleted ? [workerId] : []
}
