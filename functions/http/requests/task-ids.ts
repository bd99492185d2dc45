import { splitRunId } from '../../../shared/core/task/task.ts'
import { isTaskId } from '../../../shared/requests/task-ids.ts'
import type { RunReference } from '../../../shared/runtime/run/http-runs.ts'

export { isTaskId }

/** Returns the run that a request names, or undefined when no run can have this id. */
export function runReference(taskId: string, runId: string): RunReference | undefined {
  const run = splitRunId(runId)
  return run && isTaskId(taskId) ? { taskId, ...run } : undefined
}
