import { finish } from '../../core/run/finish.ts'
import type { Outcome } from '../../core/run/run.ts'
import type { LiveRun, Task } from '../../core/task/task.ts'
import { type Patience, transact } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'

/** A claimed task, and the run that the claim began. */
type ClaimedRun = { readonly task: Task; readonly run: LiveRun }

/**
 * Releases a run whose handler has not begun. Its task is dispatched again, and no retry is used up.
 *
 * @throws BatonError when the release is not written. Then the run ends with its lease.
 */
export async function releaseRun(system: System, claimed: ClaimedRun, patience?: Patience): Promise<void> {
  await endRun(system, claimed, { outcome: 'release' }, patience)
}

/** Ends a run whose handler has not begun. Logs when its end is not written: the run then ends with its lease. */
export async function endRunOrLog(system: System, claimed: ClaimedRun, outcome: Outcome): Promise<void> {
  await endRun(system, claimed, outcome).catch(error => {
    const taskId = claimed.task.id
    system.log.warn('the end of a run was not written; the run ends with its lease', { taskId, error })
  })
}

async function endRun(
  system: System,
  { task, run }: ClaimedRun,
  outcome: Outcome,
  patience?: Patience,
): Promise<void> {
  const report = { born: task.born, fence: run.fence, ...outcome }
  await transact(
    system,
    task,
    current => finish(current, report, system.clock.now(), system.chance.fraction()),
    patience,
  )
}
