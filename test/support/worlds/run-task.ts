import type { Claimer } from '../../../shared/core/run/claim.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask, type NotClaimed } from '../../../shared/runtime/claim/claim.ts'
import type { Claimed } from '../../../shared/runtime/claim/claimed-task.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { runInTable } from '../../../shared/runtime/run/keep-in-table.ts'
import type { Ran, RunTools } from '../../../shared/runtime/run/run.ts'

/** Claims the task and runs it to its end, unless the claim is refused. */
export async function runTask(
  system: System,
  seen: Task,
  claimer: Claimer,
  tools: RunTools<Claimed>,
): Promise<Ran | NotClaimed> {
  const claimed = await claimTask(system, seen, claimer)
  return 'refused' in claimed ? claimed : runInTable(system, claimed, tools)
}
