import { WORKER_LIFE_MS, type Worker, yieldsTo } from '../../core/worker/worker.ts'
import type { Clock } from '../../ports/machine.ts'
import type { WorkerStore } from '../../ports/stores.ts'

/** Registers workers in memory. */
export function createMemoryWorkerStore(clock: Pick<Clock, 'now'>): WorkerStore {
  const workers = new Map<string, Worker>()
  const isLive = ({ lastSeen }: Worker) => lastSeen + WORKER_LIFE_MS > clock.now()
  return {
    announce: async worker => {
      const stored = workers.get(worker.workerId)
      if (!stored || !yieldsTo(worker, stored)) workers.set(worker.workerId, worker)
    },
    leave: async ({ workerId, startedAt }) => {
      if (workers.get(workerId)?.startedAt === startedAt) workers.delete(workerId)
    },
    get: async workerId => {
      const worker = workers.get(workerId)
      return worker && isLive(worker) ? worker : undefined
    },
    dropSilent: async (since, limit) => {
      const silent = [...workers.values()].filter(({ lastSeen }) => lastSeen < since).slice(0, limit)
      for (const { workerId } of silent) workers.delete(workerId)
      return silent.map(({ workerId }) => workerId)
    },
    list: async () => [...workers.values()].filter(isLive).sort((a, b) => (a.workerId < b.workerId ? -1 : 1)),
  }
}
