import type { Worker } from '../core/worker.ts'
import type { System } from './system.ts'

const LIFETIME_MS = 1_000

/** Reads which workers show signs of life through a memory of one second, for those who ask once per task. */
export function cachedLiveWorkers({
  workers,
  clock,
}: Pick<System, 'workers' | 'clock'>): () => Promise<readonly Worker[]> {
  let until = 0
  let read: Promise<readonly Worker[]> | undefined
  return () => {
    if (read && until > clock.now()) return read
    until = clock.now() + LIFETIME_MS
    const reading = workers.list()
    reading.catch(() => {
      if (read === reading) read = undefined
    })
    read = reading
    return reading
  }
}
