import type { BodyWrite } from '../change/change.ts'
import { limitValuesOf } from '../limits/limits.ts'
import { bodyExpiry, bodyOf, bodyRef } from '../task/body.ts'
import type { Task } from '../task/task.ts'
import type { Json } from '../values/json.ts'

/**
 * The draft with another input, and the item that must be written first when the input is large. The values by which limits count
 * the task come from the new input.
 */
export function withInput(
  draft: Task,
  input: Json,
  now: number,
): { readonly draft: Task; readonly bodies: readonly BodyWrite[] } {
  const { limitValues = {}, ...rest } = draft
  const expiry = bodyExpiry(draft.dueAt, now, draft.options.retentionMs)
  const { body, writes } = bodyOf(input, bodyRef.input(draft.born, draft.revision + 1, input), expiry)
  const given = { ...rest, input: body }
  return { draft: { ...given, ...limitValuesOf(given, input, Object.keys(limitValues)) }, bodies: writes }
}
