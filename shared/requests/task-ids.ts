import { DERIVED_KEY_CHARACTERS_MAX } from '../core/bounds.ts'
import { isName } from '../core/name.ts'
import { typeNameRule } from '../core/rules/type-configuration.ts'
import { splitTaskId } from '../core/task/task.ts'
import { reservedFor } from '../core/types/reserved-types.ts'

/**
 * Whether a task can have this id. Ids of canvases and schedules have the same form, and are refused. Callers ask the store only for
 * such ids, because the store cannot hold longer ones.
 */
export function isTaskId(id: string): boolean {
  const parts = splitTaskId(id)
  if (!parts || reservedFor(parts.type)) return false
  return typeNameRule.problems(parts.type, '').length === 0 && isName(parts.key, DERIVED_KEY_CHARACTERS_MAX)
}
