import type { Worker } from '../../../core/worker/worker.ts'
import type { Clock } from '../../../ports/machine.ts'
import type { WorkerStore } from '../../../ports/stores.ts'
import type { Documents } from '../documents.ts'
import { workerFromItem } from '../side-items.ts'
import type { Item } from '../stored-form.ts'
import { deleteSilentWorker, deleteWorker, getWorker, listWorkers, putWorker } from './worker-requests.ts'

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
      await documents.delete(deleteWorker(table, worker))
    },
    get: async workerId => {
      const item = await documents.get(getWorker(table, workerId))
      return item && workerFromItem(item, clock.now())
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

async function* allWorkers(documents: Documents, table: string): AsyncGenerator<Item> {
  let start: Item | undefined
  do {
    const { items, next } = await documents.query(listWorkers(table, start))
    yield* items
    start = next
  } while (start)
}

/** Removes a worker unless it was seen since `item` was read. Returns the id of a removed worker. */
async function dropIfSilent(documents: Documents, table: string, item: Item): Promise<string[]> {
  const workerId = item.sk as string
  const request = deleteSilentWorker(table, workerId, item.seen as number)
  return (await documents.delete(request)).isWritten ? [workerId] : []
}
