import type { Worker } from '../core/worker.ts'
import type { System } from './system.ts'
import { createTimedCache } from './timed-cache.ts'

const LIFETIME_MS = 1_000

/** Reads which workers show signs of life through a memory of one second, for those who ask once per task. */
export function cachedLiveWorkers({
  workers,
  clock,
}: Pick<System, 'workers' | 'clock'>): () => Promise<readonly Worker[]> {
  const cache = createTimedCache<readonly Worker[]>(LIFETIME_MS)
  return async () => (await cache.get(clock, 'all', () => workers.list())).value
}
