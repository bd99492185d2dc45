import { isOutage } from '../../core/errors.ts'
import { type Finish, type FinishDecision, finish, type Outcome } from '../../core/run/finish.ts'
import type { Task } from '../../core/task/task.ts'
import { transact, type Outcome as WriteOutcome } from '../kernel/kernel.ts'
import { logEndFound, logRunStopped } from '../kernel/log-run-ends.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import { releasePermits } from '../limits/permits.ts'
import type { Hold } from './hold-run.ts'

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
    if (!decision.change && task) logEndFound(system, seen, task, fence)
    return true
  }
  logRunStopped(system, seen, fence, decision.reason)
  if (decision.reason === 'lost') system.metrics.add('LeaseLost', 1, seen.type)
  return false
}

/**
 * A counted success is refused when its run has ended, which the next decision finds out, or on a head of older code that has
 * no room for it. After so many refusals the success is written with the guard of the revision.
 */
const COUNTED_TRIES = 3

/** Ends a run by its worker's word. Repeating it is safe: the same word about a run that it has ended changes nothing. */
export async function writeFinish(
  system: System,
  seen: Task,
  word: Finish,
): Promise<WriteOutcome<FinishDecision>> {
  const outcome = await transact(system, seen, (task, conflicts) =>
    finish(task, word, system.clock.now(), system.chance.fraction(), { mayCount: conflicts < COUNTED_TRIES }),
  )
  // Refused, but by its own work: the answer to the write was lost, and with it the permits to give back.
  const { decision, conflicts } = outcome
  if (decision.ok && !decision.change && conflicts > 0) {
    await releasePermits(system, seen.live[word.fence]?.permits ?? [])
  }
  return outcome
}
