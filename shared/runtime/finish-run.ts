import { BatonError } from '../core/errors.ts'
import { finish, type Outcome } from '../core/finish.ts'
import type { Task } from '../core/task.ts'
import type { Hold } from './hold-run.ts'
import { logFields } from './log-fields.ts'
import type { System } from './system.ts'
import { transact } from './transact.ts'

const STORAGE_PAUSE_MS = 500

/**
 * Writes the end of a run. While the store does not answer it is tried again, heartbeats going on, until the lease
 * would be over anyway. False when the run was no longer ours: somebody else's word holds.
 */
export async function finishRun(
  system: System,
  hold: Hold,
  fence: number,
  outcome: Outcome,
): Promise<boolean> {
  for (;;) {
    try {
      return await writeFinish(system, hold.task(), fence, outcome)
    } catch (error) {
      const isOutage = error instanceof BatonError && error.code === 'unavailable'
      if (!isOutage || hold.leaseLeftMs() <= 0) throw error
      system.log.warn('finish not written yet', { ...logFields(hold.task()), error })
      await system.clock.sleep(STORAGE_PAUSE_MS)
    }
  }
}

async function writeFinish(system: System, seen: Task, fence: number, outcome: Outcome): Promise<boolean> {
  const { decision } = await transact(system, seen, task =>
    finish(task, { born: seen.born, fence, ...outcome }, system.clock.now(), system.chance.fraction()),
  )
  if (decision.ok) return true
  system.log.warn('the run was no longer ours', { ...logFields(seen), fence, reason: decision.reason })
  if (decision.reason === 'lost') system.metrics.add('LeaseLost', 1, seen.type)
  return false
}
