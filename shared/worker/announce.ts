import type { Worker as Announced } from '../core/worker.ts'
import type { System } from '../runtime/system.ts'

/** A third of what a worker may be silent: two announcements may fail before it counts as gone. */
const INTERVAL_MS = 10_000

/** Keeps the worker in the registry until `gone`, then takes it out. One write every ten seconds. Never fails. */
export async function announce(
  { workers, clock, log }: Pick<System, 'workers' | 'clock' | 'log'>,
  worker: Omit<Announced, 'kind' | 'running' | 'startedAt' | 'lastSeen'>,
  running: () => number,
  gone: AbortSignal,
): Promise<void> {
  const { workerId } = worker
  const startedAt = clock.now()
  const orLog = (error: unknown) => log.warn('a worker could not be announced', { workerId, error })
  while (!gone.aborted) {
    const sign: Announced = {
      ...worker,
      ...{ kind: 'standalone', running: running(), startedAt, lastSeen: clock.now() },
    }
    await workers.announce(sign).catch(orLog)
    await clock.sleep(INTERVAL_MS, gone)
  }
  await workers.leave({ workerId, startedAt }).catch(orLog)
}
