import { BatonError } from '../core/errors.ts'
import type { Task } from '../core/task.ts'
import type { TaskDefinition } from '../define-task.ts'
import { Fatal, Release } from '../signals.ts'
import type { System } from './system.ts'

/**
 * The task's input as its handler gets it: fetched when it is stored apart, and parsed by the definition's schema.
 *
 * @throws Fatal when it does not fit the schema, or has expired: no retry would help.
 */
export async function inputOf(system: System, task: Task, definition: TaskDefinition): Promise<unknown> {
  return parsedInput(await storedInput(system, task), definition)
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

/** The input as it was published; undefined when none was. */
async function storedInput(system: Pick<System, 'tasks'>, task: Task): Promise<unknown> {
  if (!task.input) return undefined
  if ('inline' in task.input) return task.input.inline
  const value = await system.tasks.body(task.id, task.input.ref).catch(giveBack)
  if (value === undefined) throw new Fatal(`the input of ${task.id} is no longer there`)
  return value
}

const STORAGE_PAUSE_MS = 5_000

/** That the store does not answer is not the task's failure: it is given back for a while. */
function giveBack(error: unknown): never {
  if (error instanceof BatonError && error.code === 'unavailable') throw new Release(STORAGE_PAUSE_MS)
  throw error
}

function pathOf(path: ReadonlyArray<PropertyKey | { key: PropertyKey }> | undefined): string {
  const parts = (path ?? []).map(part => String(typeof part === 'object' ? part.key : part))
  return parts.length > 0 ? parts.join('.') : 'input'
}
