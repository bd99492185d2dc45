import { typeName } from '../../../shared/api/scalars.ts'
import { DERIVED_KEY_CHARACTERS_MAX } from '../../../shared/core/bounds.ts'
import { isName } from '../../../shared/core/name.ts'
import { splitRunId, splitTaskId } from '../../../shared/core/task/task.ts'
import { reservedFor } from '../../../shared/core/types/reserved-types.ts'
import type { RunReference } from '../../../shared/runtime/run/http-runs.ts'

/** Whether there can be a task of this id; a canvas and a schedule have one that looks alike. What cannot be stored is not asked of the store, either. */
export function isTaskId(id: string): boolean {
  const parts = splitTaskId(id)
  if (!parts || reservedFor(parts.type)) return false
  return typeName.safeParse(parts.type).success && isName(parts.key, DERIVED_KEY_CHARACTERS_MAX)
}

/** The run that a request speaks for; undefined when there can be none. A fence that is not the run's is no run's. */
export function runReference(taskId: string, runId: string): RunReference | undefined {
  const run = splitRunId(runId)
  return run && isTaskId(taskId) ? { taskId, ...run } : undefined
}
