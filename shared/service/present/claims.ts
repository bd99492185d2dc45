import type { Claim, HeartbeatAnswer } from '../../api/runs.ts'
import { beatIntervalMs } from '../../core/run/heartbeat.ts'
import { idempotencyKey } from '../../core/task/piece.ts'
import { runId, type Task } from '../../core/task/task.ts'
import { defined } from '../../core/values/defined.ts'
import type { ClaimedTask } from '../../runtime/claim/claimed-task.ts'
import type { TaskDescription } from '../../runtime/read/read.ts'
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
