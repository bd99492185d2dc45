import { WORKER_DROP_MS } from '../../core/worker/worker.ts'
import type { System } from '../kernel/system.ts'

/** Taken out per round; the rest is the next round's. */
const MAX_DROPPED = 200

/**
 * Takes workers out of the registry that died without leaving: their items would stay until DynamoDB expires them, days
 * later, and only then would it be told that they left. Answers how many.
 */
export async function sweepWorkers({
  workers,
  clock,
  log,
}: Pick<System, 'workers' | 'clock' | 'log'>): Promise<number> {
  try {
    const dropped = await workers.dropSilent(clock.now() - WORKER_DROP_MS, MAX_DROPPED)
    if (dropped.length > 0) log.info('workers fell silent', { workers: dropped })
    return dropped.length
  } catch (error) {
    log.error('silent workers were not taken out', { error })
    return 0
  }
}
