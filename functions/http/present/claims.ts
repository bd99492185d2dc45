import type { Claim, HeartbeatAnswer } from '../../../shared/api/runs.ts'
import { defined } from '../../../shared/core/defined.ts'
import { beatIntervalMs } from '../../../shared/core/run/heartbeat.ts'
import { idempotencyKey } from '../../../shared/core/task/piece.ts'
import { runId, type Task } from '../../../shared/core/task/task.ts'
import type { ClaimedTask } from '../../../shared/runtime/claim/claimed-task.ts'
import type { TaskDescription } from '../../../shared/runtime/read/describe-task.ts'
import { iso } from './iso.ts'
import { presentTask } from './tasks.ts'

/**
 * A claim as the API shows it: the running task with its input, and what the worker's reports about the run must name. It
 * leaves out the operators' changes.
 */
export function presentClaim(
  { task, run, input, params, previous, isPreviousPaged, isInputParams }: ClaimedTask,
  { input: _stored, ...description }: TaskDescription,
): Claim {
  const { operations: _operations, ...shown } = presentTask({
    ...description,
    ...defined({ input, params, previous, isPreviousPaged }),
  })
  return {
    task: {
      ...shown,
      ...(isInputParams && { inputIsParams: true as const }),
    },
    run: {
      id: runId(task.born, run.fence),
      fence: run.fence,
      leaseUntil: iso(run.leaseUntil),
      idempotencyKey: idempotencyKey(task),
    },
  }
}

/**
 * The answer to a heartbeat. Its `heartbeatMs` is the interval that this run must keep. A longer lease in the options
 * allows a longer interval only for runs that were claimed with that lease.
 */
export function presentHeartbeat(task: Task, fence: number, leaseUntil: number): HeartbeatAnswer {
  const heartbeatMs = beatIntervalMs(task, fence)
  return { leaseUntil: iso(leaseUntil), options: { ...task.options, heartbeatMs } }
}
