import type { System } from './system.ts'

const LIFETIME_MS = 1_000

/** Reads which workers show signs of life through a memory of one second, for those who ask once per task. */
export function cachedLiveWorkers({
  workers,
  clock,
}: Pick<System, 'workers' | 'clock'>): () => Promise<ReadonlySet<string>> {
  let until = 0
  let read: Promise<ReadonlySet<string>> | undefined
  return () => {
    if (read && until > clock.now()) return read
    until = clock.now() + LIFETIME_MS
    const reading = workers.list().then(found => new Set(found.map(({ workerId }) => workerId)))
    reading.catch(() => {
      if (read === reading) read = undefined
    })
    read = reading
    return reading
  }
}
