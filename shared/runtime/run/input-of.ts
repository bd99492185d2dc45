import { BatonError } from '../../core/errors.ts'
import type { Task } from '../../core/task/task.ts'
import { redactionOf } from '../../core/task-error/redact.ts'
import type { TaskDefinition } from '../../define/define-task.ts'
import { Fatal, Release } from '../../signals.ts'
import { BodyGone, type Content, contentOf } from '../claim/content-of.ts'
import type { System } from '../kernel/system.ts'
import type { RunLog } from './run-log.ts'

/**
 * What a handler is given: the content of the task, its input parsed by the definition's schema. From then on the run's log hides
 * what the definition marks.
 *
 * @throws Fatal when it does not fit the schema, or has expired: no retry would help. Release when the store does not
 * answer, which is not the task's failure.
 */
export async function handlerInput(
  system: System,
  task: Task,
  definition: TaskDefinition,
  log: Pick<RunLog, 'hide'>,
): Promise<Omit<Content, 'input'> & { readonly input: unknown }> {
  const content = await contentOf(system, task).catch(asSignal)
  log.hide(redactionOf(definition.redact ?? [], [content.input, content.params, content.previous]))
  return { ...content, input: await parsedInput(content.input, definition) }
}

const STORAGE_PAUSE_MS = 5_000

/** That the store does not answer gives the task back for a while. */
function asSignal(error: unknown): never {
  if (error instanceof BatonError && error.code === 'unavailable') throw new Release(STORAGE_PAUSE_MS)
  if (error instanceof BodyGone) throw new Fatal(error.message)
  throw error
}

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
