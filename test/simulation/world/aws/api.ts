import type { PlanningSystem } from '../../../../shared/runtime/kernel/system.ts'
import {
  createHttpWorkers,
  type HttpWorkers,
} from '../../../../shared/runtime/worker/announce-http-workers.ts'
import type { Process } from '../process.ts'
import type { Sandboxes } from '../sandboxes.ts'

/** The HTTP API as a client reaches it: a use case runs in a sandbox of the API, which may die over it. */
export type Api = {
  /** The answer; rejects when there is none in time. Whether the request took effect is then unknown. */
  request<T>(
    client: Process,
    what: string,
    use: (system: PlanningSystem, workers: HttpWorkers) => Promise<T>,
  ): Promise<T>
}

/** Whether the request took effect is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

const GIVE_UP_MS = 30_000

export function createApi(sandboxes: Sandboxes): Api {
  const listeners = new WeakMap<Process, HttpWorkers>()
  const workersIn = (process: Process, system: PlanningSystem) => {
    const workers = listeners.get(process) ?? createHttpWorkers(system)
    listeners.set(process, workers)
    return workers
  }
  return {
    request: async (client, what, use) => {
      const answered = new AbortController()
      const call = () =>
        sandboxes.invoke('api', async ({ process, system }) => ({
          body: await use(system, workersIn(process, system)),
        }))
      // What rejects is the call itself: the network between the client and the API.
      const answer = client.call(what, call, 'functions').catch(() => undefined)
      const timeout = client.clock.sleep(GIVE_UP_MS, answered.signal).then(() => undefined)
      const first = await Promise.race([answer, timeout]).finally(() => answered.abort())
      if (!first) throw new NoAnswer(what)
      return first.body
    },
  }
}
