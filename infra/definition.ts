import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { BatonError } from '../shared/core/errors.ts'
import type { TypeConfiguration } from '../shared/core/task-type.ts'

/** What the deployment needs of a task's definition. */
export type TaskSpec = {
  readonly type: string
  readonly config: TypeConfiguration
}

export type FoundDefinition = TaskSpec & {
  /** Absolute path of the file that exports it. */
  readonly file: string
  readonly exportName: string
}

/**
 * Loads `entry` (a path, relative to the working directory) and finds the task definition that it exports: its only
 * one, or the one exported as `exportName`. The file's imports are run, so they must not need AWS or an environment.
 *
 * @throws BatonError `invalid` when there is no such file, it cannot be loaded, or does not export one definition.
 */
export function readDefinition(entry: string, exportName?: string): FoundDefinition {
  const definitions = definitionsIn(entry)
  const name = exportName ?? onlyNameOf(definitions, entry)
  const definition = definitions.get(name)
  if (!definition) {
    throw new BatonError(
      'invalid',
      `${entry} exports no task definition '${name}'; it exports ${namesOf(definitions)}`,
    )
  }
  return found(entry, name, definition)
}

/**
 * All task definitions that `entry` exports, at least one.
 *
 * @throws BatonError `invalid` when there is no such file, it cannot be loaded, or exports none.
 */
export function readDefinitions(entry: string): FoundDefinition[] {
  const definitions = definitionsIn(entry)
  if (definitions.size === 0) throw nothingIn(entry)
  return [...definitions].map(([name, definition]) => found(entry, name, definition))
}

function definitionsIn(entry: string): Map<string, TaskSpec> {
  return new Map(Object.entries(load(resolve(entry), entry)).filter(isDefinitionExport))
}

function found(entry: string, exportName: string, { type, config }: TaskSpec): FoundDefinition {
  refuseUnserialisable(config, `${entry}, ${exportName}`)
  return { type, config, file: resolve(entry), exportName }
}

function nothingIn(entry: string): BatonError {
  return new BatonError('invalid', `${entry} exports no task; export what defineTask returns`)
}

/** @throws BatonError `invalid` for a type that is claimed over HTTP: nothing of it is deployed. */
export function refuseHttp({ type, config }: TaskSpec): void {
  if (config.kind !== 'http') return
  throw new BatonError('invalid', `'${type}' is of kind 'http': it is claimed over HTTP and has no handler`)
}

/** `require`, because constructs are built synchronously; Node loads TypeScript and ES modules with it. */
function load(file: string, entry: string): Record<string, unknown> {
  if (!existsSync(file)) throw new BatonError('invalid', `there is no file ${entry} in ${process.cwd()}`)
  try {
    return createRequire(import.meta.url)(file) as Record<string, unknown>
  } catch (cause) {
    const awaits = (cause as { code?: unknown }).code === 'ERR_REQUIRE_ASYNC_MODULE'
    const reason = awaits ? 'it, or a file it imports, awaits at its top level' : String(cause)
    throw new BatonError('invalid', `${entry} cannot be loaded to read its task: ${reason}`, { cause })
  }
}

function isDefinitionExport(entry: [string, unknown]): entry is [string, TaskSpec] {
  const value = entry[1]
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'baton-task'
}

function onlyNameOf(definitions: ReadonlyMap<string, TaskSpec>, entry: string): string {
  const [name, another] = [...definitions.keys()]
  if (name === undefined) throw nothingIn(entry)
  if (another !== undefined) {
    throw new BatonError('invalid', `${entry} exports ${namesOf(definitions)}; choose one with 'task'`)
  }
  return name
}

function namesOf(definitions: ReadonlyMap<string, TaskSpec>): string {
  const names = [...definitions.keys()].map(name => `'${name}'`)
  return names.length === 0 ? 'none' : names.join(', ')
}

/** The configuration travels through the template as JSON, which would drop a function without a word. */
function refuseUnserialisable(config: TypeConfiguration, place: string): void {
  JSON.stringify(config, (field, value: unknown) => {
    if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') {
      throw new BatonError(
        'invalid',
        `${place}: the option '${field}' is a ${typeof value}; options must be JSON`,
      )
    }
    return value
  })
}
