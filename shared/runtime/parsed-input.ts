import type { TaskDefinition } from '../define/define-task.ts'
import { Fatal } from '../signals.ts'

/**
 * An input as its handler gets it.
 *
 * @throws Fatal when it does not fit the definition's schema.
 */
export async function parsedInput(value: unknown, definition: TaskDefinition): Promise<unknown> {
  if (!definition.input) return value
  const parsed = await definition.input['~standard'].validate(value)
  if (!parsed.issues) return parsed.value
  const problems = parsed.issues.map(issue => `${pathOf(issue.path)}: ${issue.message}`)
  throw new Fatal(`input does not fit ${definition.type}: ${problems.join('; ')}`)
}

function pathOf(path: ReadonlyArray<PropertyKey | { key: PropertyKey }> | undefined): string {
  const parts = (path ?? []).map(part => String(typeof part === 'object' ? part.key : part))
  return parts.length > 0 ? parts.join('.') : 'input'
}
