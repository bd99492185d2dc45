import type { Claim, HeartbeatAnswer } from '../../../shared/api/runs.ts'
import { beatIntervalMs } from '../../../shared/core/run/heartbeat.ts'
import { idempotencyKey } from '../../../shared/core/task/piece.ts'
import { runId, type Task } from '../../../shared/core/task/task.ts'
import type { ClaimedTask } from '../../../shared/runtime/claim/held-task.ts'
import type { TaskDescription } from '../../../shared/runtime/read/describe-task.ts'
import { iso } from './iso.ts'

import { presentTask } from './tasks.ts'

/** A claim: the task, running, with what it is to work on, and what its worker needs to speak for the run; not who changed it. */
export function presentClaim(
  { task, run, input, params, previous, isPreviousPaged, isInputParams }: ClaimedTask,
  { input: _stored, ...description }: TaskDescription,
): Claim {
  const { operations: _operations, ...shown } = presentTask({
    ...description,
    ...(input !== undefined && { input }),
    ...(params && { params }),
    ...(previous !== undefined && { previous }),
    ...(isPreviousPaged && { isPreviousPaged }),
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
 * What a worker is told when it shows a sign of life. The interval is the one it must keep, which a longer lease in the
 * options stretches only for runs that have that lease.
 */
export function presentHeartbeat(task: Task, fence: number, leaseUntil: number): HeartbeatAnswer {
  const heartbeatMs = beatIntervalMs(task, fence)
  return { leaseUntil: iso(leaseUntil), options: { ...task.options, heartbeatMs } }
}
