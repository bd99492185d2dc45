import { typeName } from '../../../shared/api/scalars.ts'
import { DERIVED_KEY_CHARACTERS_MAX } from '../../../shared/core/bounds.ts'
import { isName } from '../../../shared/core/name.ts'
import { splitRunId, splitTaskId } from '../../../shared/core/task/task.ts'
import { reservedFor } from '../../../shared/core/types/reserved-types.ts'
import type { RunReference } from '../../../shared/runtime/run/http-runs.ts'

/**
 * Whether a task can have this id. Ids of canvases and schedules have the same form, and are refused. Routes ask
 * the store only for such ids, because the store cannot hold longer ones.
 */
export function isTaskId(id: string): boolean {
  const parts = splitTaskId(id)
  if (!parts || reservedFor(parts.type)) return false
  return typeName.safeParse(parts.type).success && isName(parts.key, DERIVED_KEY_CHARACTERS_MAX)
}

/** Returns the run that a request names, or undefined when no run can have this id. */
export function runReference(taskId: string, runId: string): RunReference | undefined {
  const run = splitRunId(runId)
  return run && isTaskId(taskId) ? { taskId, ...run } : undefined
}
