import { isOutage } from '../core/errors.ts'
import type { Outcome } from '../core/finish.ts'
import type { Task } from '../core/task.ts'
import type { Hold } from './hold-run.ts'
import { logFields } from './log-fields.ts'
import type { System } from './system.ts'
import { tellEndFound, tellRunStopped } from './tell-run-ends.ts'
import { writeFinish } from './write-finish.ts'

const STORAGE_PAUSE_MS = 500

/**
 * Writes the end of a run. While the store does not answer, or other writers are always faster, it is tried again under the
 * run's heartbeats, until the lease would be over anyway. False when the run was no longer ours: how others ended it holds.
 */
export async function finishRun(
  system: System,
  hold: Hold,
  fence: number,
  outcome: Outcome,
): Promise<boolean> {
  for (;;) {
    try {
      return await finished(system, hold.task(), fence, outcome)
    } catch (error) {
      if (!isOutage(error) || hold.leaseLeftMs() <= 0) throw error
      system.log.warn('finish not written yet', { ...logFields(hold.task()), error })
      await system.clock.sleep(STORAGE_PAUSE_MS)
    }
  }
}

async function finished(system: System, seen: Task, fence: number, outcome: Outcome): Promise<boolean> {
  const { decision, task } = await writeFinish(system, seen, { born: seen.born, fence, ...outcome })
  if (decision.ok) {
    if (!decision.change && task) tellEndFound(system, seen, task, fence)
    return true
  }
  tellRunStopped(system, seen, fence, decision.reason)
  if (decision.reason === 'lost') system.metrics.add('LeaseLost', 1, seen.type)
  return false
}
