import { DeleteCommand, type DynamoDBDocumentClient, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import type { Worker } from '../core/worker.ts'
import type { Clock, WorkerStore } from '../ports.ts'
import { answerOf } from './sending.ts'
import { workerFromItem } from './side-items.ts'
import type { Item } from './stored-form.ts'
import { deleteWorker, listWorkers, putWorker } from './worker-requests.ts'

/** The registry of workers in a DynamoDB table with the keys of `keys.ts`. */
export function createWorkerStore(
  documents: DynamoDBDocumentClient,
  { table, clock }: { readonly table: string; readonly clock: Pick<Clock, 'now'> },
): WorkerStore {
  return {
    announce: async worker => {
      await answerOf(documents.send(new PutCommand(putWorker(table, worker))))
    },
    leave: async workerId => {
      await answerOf(documents.send(new DeleteCommand(deleteWorker(table, workerId))))
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
