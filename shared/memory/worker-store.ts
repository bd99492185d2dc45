import { WORKER_LIFE_MS, type Worker } from '../core/worker.ts'
import type { Clock, WorkerStore } from '../ports.ts'

/** The registry of workers in memory. */
export function createMemoryWorkerStore(clock: Pick<Clock, 'now'>): WorkerStore {
  const workers = new Map<string, Worker>()
  return {
    announce: async worker => {
      workers.set(worker.workerId, worker)
    },
    leave: async workerId => {
      workers.delete(workerId)
    },
    list: async () =>
      [...workers.values()]
        .filter(({ lastSeen }) => lastSeen + WORKER_LIFE_MS > clock.now())
        .sort((a, b) => (a.workerId < b.workerId ? -1 : 1)),
  }
}
