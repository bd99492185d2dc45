import type { Claimer } from '../../../shared/core/run/claim.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask, type NotClaimed } from '../../../shared/runtime/claim/claim.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { type Ran, type RunTools, runClaimed } from '../../../shared/runtime/run/run.ts'

/** Claims the task and runs it to its end, unless the claim is refused. */
export async function runTask(
  system: System,
  seen: Task,
  claimer: Claimer,
  tools: RunTools,
): Promise<Ran | NotClaimed> {
  const claimed = await claimTask(system, seen, claimer)
  return 'refused' in claimed ? claimed : runClaimed(system, claimed, tools)
}
