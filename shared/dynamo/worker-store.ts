import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
} from '@aws-sdk/lib-dynamodb'
import type { Worker } from '../core/worker.ts'
import type { Clock, WorkerStore } from '../ports.ts'
import { answerOf, conditional } from './sending.ts'
import { workerFromItem } from './side-items.ts'
import type { Item } from './stored-form.ts'
import { deleteWorker, getWorker, listWorkers, putWorker } from './worker-requests.ts'

/** The registry of workers in a DynamoDB table with the keys of `keys.ts`. */
export function createWorkerStore(
  documents: DynamoDBDocumentClient,
  { table, clock }: { readonly table: string; readonly clock: Pick<Clock, 'now'> },
): WorkerStore {
  return {
    announce: async worker => {
      await conditional(documents.send(new PutCommand(putWorker(table, worker))))
    },
    leave: async worker => {
      await conditional(documents.send(new DeleteCommand(deleteWorker(table, worker))))
    },
    get: async workerId => {
      const { Item } = await answerOf(documents.send(new GetCommand(getWorker(table, workerId))))
      return Item && workerFromItem(Item, clock.now())
    },
    list: async () => {
      const workers: Worker[] = []
      let start: Item | undefined
      do {
        const { Items = [], LastEvaluatedKey } = await answerOf(
          documents.send(new QueryCommand(listWorkers(table, start))),
        )
        workers.push(...Items.flatMap(item => workerFromItem(item, clock.now()) ?? []))
        start = LastEvaluatedKey
      } while (start)
      return workers
    },
  }
}
