import { isOutage } from '../../core/errors.ts'
import { type FinishDecision, finish } from '../../core/run/finish.ts'
import type { Finish, Outcome } from '../../core/run/run.ts'
import type { Task } from '../../core/task/task.ts'
import { transact, type Outcome as WriteOutcome } from '../kernel/kernel.ts'
import { logEndFound, logRunStopped } from '../kernel/log-run-ends.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import { releasePermits } from '../limits/permits.ts'
import type { Hold } from './hold-run.ts'

const STORAGE_PAUSE_MS = 500

/**
 * Writes the end of a run. While the store does not answer, or other writers are faster, it tries again under the run's
 * heartbeats until the lease ends. Returns false when another process has ended the run before; that end holds.
 */
export async function finishRun(
  system: System,
  hold: Hold,
  fence: number,
  outcome: Outcome,
): Promise<boolean> {
  for (;;) {
    try {
      return await tryToFinish(system, hold.task(), fence, outcome)
    } catch (error) {
      if (!isOutage(error) || hold.leaseLeftMs() <= 0) throw error
      system.log.warn('the end of a run is not written yet', { ...logFields(hold.task()), error })
      await system.clock.sleep(STORAGE_PAUSE_MS)
    }
  }
}

async function tryToFinish(system: System, seen: Task, fence: number, outcome: Outcome): Promise<boolean> {
  const { decision, head: task } = await writeFinish(system, seen, { born: seen.born, fence, ...outcome })
  if (decision.ok) {
    if (!decision.change && task) logEndFound(system, seen, task, fence)
    return true
  }
  logRunStopped(system, seen, fence, decision.reason)
  return false
}

/**
 * After this many refusals, a success with the guard `counted` is written with the guard `revision` instead. The store
 * refuses a counted success when its run has ended, which the next decision finds out, or when older code wrote the head.
 */
const COUNTED_TRIES = 3

/** Ends a run by its worker's report. A worker may repeat its report: after the report has ended the run, it changes nothing. */
export async function writeFinish(
  system: System,
  seen: Task,
  report: Finish,
): Promise<WriteOutcome<Task, FinishDecision>> {
  const outcome = await transact(system, seen, (task, refusals) =>
    finish(task, report, system.clock.now(), system.chance.fraction(), {
      mayCount: refusals < COUNTED_TRIES,
    }),
  )
  // The write was refused because it was already stored: its answer was lost. The permits are still to be released.
  const { decision, refusals } = outcome
  if (decision.ok && !decision.change && refusals > 0) {
    await releasePermits(system, seen.live[report.fence]?.permits ?? [])
  }
  return outcome
}
