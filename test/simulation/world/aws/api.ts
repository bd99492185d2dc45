import type { PlanningSystem } from '../../../../shared/runtime/kernel/system.ts'
import type { HttpWorkers } from '../../../../shared/runtime/worker/announce-http-workers.ts'
import { createHttpWorkers } from '../../../../shared/runtime/worker/announce-http-workers.ts'
import type { Process } from '../process.ts'
import type { Sandboxes } from '../sandboxes.ts'

/**
 * The HTTP API as a client reaches it. Each request runs in an execution environment of the API, which may die
 * during it.
 */
export type Api = {
  /**
   * Sends a request.
   *
   * @throws NoAnswer when there is no answer in time. Whether the request took effect is then unknown.
   */
  request<T>(
    client: Process,
    what: string,
    use: (system: PlanningSystem, workers: HttpWorkers) => Promise<T>,
  ): Promise<T>
}

/** A request got no answer. Whether it took effect is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

const ANSWER_MS_MAX = 30_000

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
      // Only the client's own call rejects: the network between the client and the API.
      const answer = client.call(what, call, 'functions').catch(() => undefined)
      const timeout = client.clock.sleep(ANSWER_MS_MAX, answered.signal).then(() => undefined)
      const first = await Promise.race([answer, timeout]).finally(() => answered.abort())
      if (!first) throw new NoAnswer(what)
      return first.body
    },
  }
}
