import type { Claimer } from '../core/claim.ts'
import { WORKER_LIFE_MS, type Worker } from '../core/worker.ts'
import type { System } from './system.ts'

/** A worker that claims or beats all the time costs one write in so long, per process that hears it. */
const INTERVAL_MS = 10_000
const MAX_KNOWN = 10_000

/** Announces those who work over HTTP by what they do anyway. */
export type HttpWorkers = {
  /** The worker showed a sign of life, about tasks of these types. Never fails. */
  seen(claimer: Claimer, types: readonly string[]): Promise<void>
}

export function httpWorkers(system: Pick<System, 'workers' | 'clock' | 'log'>): HttpWorkers {
  const known = new Map<string, Worker>()
  return {
    seen: async ({ workerId, version }, types) => {
      const now = system.clock.now()
      const earlier = known.get(workerId)
      const isFresh = earlier !== undefined && earlier.lastSeen + INTERVAL_MS > now
      if (isFresh && types.every(type => earlier.types.includes(type))) return
      const worker = announcement(
        earlier,
        { workerId, ...(version !== undefined && { version }) },
        types,
        now,
      )
      if (known.size >= MAX_KNOWN) known.clear()
      known.set(workerId, worker)
      await system.workers.announce(worker).catch(error => {
        system.log.warn('a worker could not be announced', { workerId, error })
      })
    },
  }
}

/** What an earlier sign of life told stays true, unless the worker was gone since. */
function announcement(
  earlier: Worker | undefined,
  claimer: Claimer,
  types: readonly string[],
  now: number,
): Worker {
  const last = earlier && earlier.lastSeen + WORKER_LIFE_MS > now ? earlier : undefined
  const version = claimer.version ?? last?.version
  return {
    workerId: claimer.workerId,
    kind: 'http',
    ...(version !== undefined && { version }),
    types: [...new Set([...(last?.types ?? []), ...types])].sort(),
    startedAt: last?.startedAt ?? now,
    lastSeen: now,
  }
}
