import { type FinishDecision, finish } from '../../core/run/finish.ts'
import type { Finish } from '../../core/run/run.ts'
import type { Task } from '../../core/task/task.ts'
import { type Outcome, transact } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { releasePermits } from '../limits/permits.ts'

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
): Promise<Outcome<Task, FinishDecision>> {
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
