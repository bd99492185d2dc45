import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BatonError } from '../core/errors.ts'
import type { TaskDefinition } from '../define-task.ts'

/**
 * The task definitions that a file exports, under whatever names. `file` is relative to the working directory.
 *
 * @throws BatonError `invalid` when there is no such file, it cannot be loaded, or exports none.
 */
export async function definitionsIn(file: string): Promise<TaskDefinition[]> {
  const definitions = Object.values(await load(file)).filter(isDefinition)
  if (definitions.length > 0) return definitions
  throw new BatonError('invalid', `${file} exports no task; export what defineTask returns`)
}

async function load(file: string): Promise<Record<string, unknown>> {
  const path = resolve(file)
  if (!existsSync(path)) throw new BatonError('invalid', `there is no file ${file} in ${process.cwd()}`)
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (cause) {
    throw new BatonError('invalid', `${file} cannot be loaded: ${cause}`, { cause })
  }
}

function isDefinition(value: unknown): value is TaskDefinition {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'baton-task'
}
