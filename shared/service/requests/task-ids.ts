import { DERIVED_KEY_CHARACTERS_MAX } from '../../core/bounds.ts'
import { typeNameRule } from '../../core/rules/type-configuration.ts'
import { splitRunId, splitTaskId } from '../../core/task/task.ts'
import { reservedFor } from '../../core/types/task-type.ts'
import { isName } from '../../core/values/text.ts'
import type { RunReference } from '../../runtime/run/http-runs.ts'

/**
 * Whether a task can have this id. Ids of canvases and schedules have the same form, and are refused. Callers ask the store only for
 * such ids, because the store cannot hold longer ones.
 */
export function isTaskId(id: string): boolean {
  const parts = splitTaskId(id)
  if (!parts || reservedFor(parts.type)) return false
  return typeNameRule.problems(parts.type, '').length === 0 && isName(parts.key, DERIVED_KEY_CHARACTERS_MAX)
}

/** The run that a request names, or undefined when no run can have this id. */
export function runReference(taskId: string, runId: string): RunReference | undefined {
  const run = splitRunId(runId)
  return run && isTaskId(taskId) ? { taskId, ...run } : undefined
}
