import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { illegal } from '../core/values/values.ts'
import { distinctTasks, type Flow, type TaskDefinition } from '../define/definitions.ts'

/**
 * Loads the tasks that a file exports, under any names, and the tasks of the steps of its exported flows. Each task is
 * returned once. `file` is relative to the working directory; errors name it as `title`.
 *
 * @throws BatonError `invalid` when the file does not exist, cannot be loaded, exports no task, or exports two definitions
 * of one type.
 */
export async function definitionsIn(file: string, title: string = file): Promise<TaskDefinition[]> {
  const tasks = distinctTasks(Object.values(await load(file, title)).filter(isDefinition))
  if (tasks.length > 0) return tasks
  throw illegal(`${title} exports no task; export what defineTask or defineFlow returns`)
}

async function load(file: string, title: string): Promise<Record<string, unknown>> {
  const path = resolve(file)
  if (!existsSync(path)) throw illegal(`there is no file ${title} in ${process.cwd()}`)
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (cause) {
    throw illegal(`${title} cannot be loaded: ${cause}`, { cause })
  }
}

function isDefinition(value: unknown): value is TaskDefinition | Flow {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false
  return value.kind === 'baton-task' || value.kind === 'baton-flow'
}
