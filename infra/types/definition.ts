import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { DEFAULT_SHARDS } from '../../shared/core/bounds.ts'
import { refuseConfiguration } from '../../shared/core/rules/type-configuration.ts'
import type { TypeConfiguration } from '../../shared/core/types/task-type.ts'
import { type BatonError, defined, illegal } from '../../shared/core/values/values.ts'
import type { ScheduleDefinition } from '../../shared/define/define-schedule.ts'
import { TASKS_PER_SHARD } from '../bounds.ts'
import { type Bundle, type BundlingProps, bundle, optionsOf } from '../bundling/esbuild.ts'
import { refuseNative } from '../bundling/native.ts'
import { nearest, writeGenerated } from '../bundling/places.ts'
import { type InputSchema, withInputSchema } from './input-schema.ts'

/** The part of a definition that the deployment needs. */
export type TaskSpec = {
  readonly type: string
  readonly config: TypeConfiguration
  /** The definitions of the tasks that do and undo a flow's steps. Steps that only name a type are left out. */
  readonly tasks?: readonly TaskSpec[]
  /** The schedules that the same file exports. */
  readonly schedules?: readonly ScheduleDefinition[]
}

export type FoundDefinition = TaskSpec & {
  /** Absolute path of the file that exports it. */
  readonly file: string
  readonly exportName: string
}

/** The kinds of definition that an entry may export, and their words in messages. */
const WORDS = {
  'baton-task': { word: 'task', made: 'defineTask' },
  'baton-flow': { word: 'flow', made: 'defineFlow' },
} as const

type Kind = keyof typeof WORDS

type Exported = TaskSpec & { readonly kind: Kind; readonly input?: InputSchema }

/**
 * Loads `entry` (a path relative to the working directory) and returns the task definition that it exports: its only one, or
 * the one exported as `exportName`. Loading runs the file's imports, so they must not need AWS or an environment.
 *
 * @throws BatonError `invalid` when there is no such file, it cannot be loaded, or it does not export one definition.
 */
export function readDefinition(
  entry: string,
  exportName?: string,
  bundling?: BundlingProps,
): FoundDefinition {
  return readOne('baton-task', exportsOf(entry, bundling), entry, exportName)
}

/**
 * Returns the flow that `entry` exports: its only one, or the one exported as `exportName`.
 *
 * @throws BatonError `invalid` when there is no such file, it cannot be loaded, or it does not export one flow.
 */
export function readFlow(entry: string, exportName?: string, bundling?: BundlingProps): FoundDefinition {
  return readOne('baton-flow', exportsOf(entry, bundling), entry, exportName)
}

/**
 * Returns all task definitions that `entry` exports, at least one.
 *
 * @throws BatonError `invalid` when there is no such file, it cannot be loaded, or exports none.
 */
export function readDefinitions(entry: string, bundling?: BundlingProps): FoundDefinition[] {
  const exported = exportsOf(entry, bundling)
  const definitions = allOf('baton-task', exported)
  if (definitions.size === 0) throw nothingIn(entry, 'baton-task', exported)
  return [...definitions].map(([name, definition]) => found(entry, name, definition))
}

/** Returns all flows that `entry` exports; there may be none. @throws BatonError `invalid` when it cannot be loaded. */
export function readFlows(entry: string, bundling?: BundlingProps): FoundDefinition[] {
  return [...allOf('baton-flow', exportsOf(entry, bundling))].map(([name, flow]) => found(entry, name, flow))
}

type TypeProps = { readonly events?: boolean; readonly expectedTasksPerSecond?: number }

/** Returns the spec with the construct's `events`, and with the shards for its tasks a second if the definition has fewer. */
export function withProps<Spec extends TaskSpec>(spec: Spec, props: TypeProps): Spec {
  const { events, expectedTasksPerSecond: expected } = props
  const shards =
    expected && Math.max(spec.config.shards ?? DEFAULT_SHARDS, Math.ceil(expected / TASKS_PER_SHARD))
  return { ...spec, config: { ...spec.config, ...defined({ events, shards }) } }
}

function readOne(
  kind: Kind,
  exported: ReadonlyMap<string, Exported>,
  entry: string,
  exportName: string | undefined,
): FoundDefinition {
  const name = exportName ?? onlyNameOf(kind, exported, entry)
  const definition = exported.get(name)
  if (definition?.kind === kind) return found(entry, name, definition)
  if (definition) throw otherKind(entry, `'${name}'`, definition.kind)
  const { word } = WORDS[kind]
  throw illegal(
    `${entry} exports no ${word} definition '${name}'; it exports ${namesOf(allOf(kind, exported))}`,
  )
}

function exportsOf(entry: string, bundling?: BundlingProps): Map<string, Exported> {
  const exported = Object.entries(load(resolve(entry), entry, bundling))
  const schedules = exported.flatMap(([, one]) => (isSchedule(one) ? [one] : []))
  return new Map(exported.filter(isDefinitionExport).map(([name, one]) => [name, { ...one, schedules }]))
}

function allOf(kind: Kind, exported: ReadonlyMap<string, Exported>): Map<string, Exported> {
  return new Map([...exported].filter(([, one]) => one.kind === kind))
}

function found(
  entry: string,
  exportName: string,
  { type, config: given, input, tasks, schedules }: Exported,
): FoundDefinition {
  const config = withInputSchema(given, input)
  refuseUnserialisable(config, `${entry}, ${exportName}`)
  // `defineTask` and `defineFlow` have checked theirs. A definition written by hand is checked here.
  refuseConfiguration(`${entry}, '${type}'`, config)
  return { type, config, file: resolve(entry), exportName, ...defined({ tasks, schedules }) }
}

function nothingIn(entry: string, kind: Kind, exported: ReadonlyMap<string, Exported>): BatonError {
  const { word, made } = WORDS[kind]
  const [other] = exported.values()
  if (other) return otherKind(entry, namesOf(exported), other.kind)
  return illegal(`${entry} exports no ${word}; export what ${made} returns`)
}

function otherKind(entry: string, names: string, kind: Kind): BatonError {
  const help =
    kind === 'baton-flow'
      ? 'is a flow: it is registered with addFlow, and served by the handlers of its steps'
      : 'is a task: it is served with addHandler or addWorkerService'
  return illegal(`${entry}: ${names} ${help}`)
}

/** @throws BatonError `invalid` for a type that is claimed over HTTP, because such a type has nothing to deploy. */
export function refuseHttp({ type, config }: TaskSpec): void {
  if (config.kind !== 'http') return
  throw illegal(`'${type}' is of kind 'http': it is claimed over HTTP and has no handler`)
}

function load(file: string, entry: string, bundling?: BundlingProps): Record<string, unknown> {
  if (!existsSync(file)) throw illegal(`there is no file ${entry} in ${process.cwd()}`)
  try {
    return loadExports(file, entry, bundling)
  } catch (cause) {
    if (isRefusal(cause)) {
      // A refusal by this package names the entry already.
      if (cause.message.startsWith(entry)) throw cause
      throw illegal(`${entry}: ${cause.message}`, { cause, problems: cause.problems })
    }
    const awaits = (cause as { code?: unknown }).code === 'ERR_REQUIRE_ASYNC_MODULE'
    const reason = awaits ? 'it, or a file it imports, awaits at its top level' : String(cause)
    throw illegal(`${entry} cannot be loaded to read its task: ${reason}`, { cause })
  }
}

/** Recognises a refusal by its name, because the file may have loaded its own copy of the library. */
function isRefusal(cause: unknown): cause is BatonError {
  return cause instanceof Error && cause.name === 'BatonError' && 'problems' in cause
}

function isDefinitionExport(entry: [string, unknown]): entry is [string, Exported] {
  const value = entry[1]
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false
  return typeof value.kind === 'string' && Object.hasOwn(WORDS, value.kind)
}

function isSchedule(value: unknown): value is ScheduleDefinition {
  return Object(value).kind === 'baton-schedule'
}

function onlyNameOf(kind: Kind, exported: ReadonlyMap<string, Exported>, entry: string): string {
  const ofKind = allOf(kind, exported)
  const [name, another] = [...ofKind.keys()]
  if (name === undefined) throw nothingIn(entry, kind, exported)
  if (another !== undefined) {
    throw illegal(`${entry} exports ${namesOf(ofKind)}; choose one with '${WORDS[kind].word}'`)
  }
  return name
}

function namesOf(definitions: ReadonlyMap<string, TaskSpec>): string {
  const names = [...definitions.keys()].map(name => `'${name}'`)
  return names.length === 0 ? 'none' : names.join(', ')
}

/** Refuses functions and other values that JSON cannot hold. The template carries the configuration as JSON. */
function refuseUnserialisable(config: TypeConfiguration, place: string): void {
  JSON.stringify(config, (field, value: unknown) => {
    if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') {
      throw illegal(`${place}: the option '${field}' is a ${typeof value}; options must be JSON`)
    }
    return value
  })
}

/** What this process has loaded, by the bundle that was loaded. An app often names one file in several constructs. */
const loaded = new WeakMap<Bundle, Record<string, unknown>>()

/**
 * Loads a file and returns its exports. The file is bundled like a handler first, so whatever a handler's bundle can contain can
 * be loaded: path aliases, enums, imports without an extension, JSX, JSON. Node alone would refuse them. Packages that stay
 * outside of a handler's bundle are loaded from the file's own project. Loading is synchronous, because constructs are built synchronously.
 *
 * @throws BatonError `invalid` when esbuild refuses the file, or for a native package in the bundle; what the file itself throws; Node's error
 * `ERR_REQUIRE_ASYNC_MODULE` when the file, or one that it imports, awaits at its top level.
 */
function loadExports(file: string, title: string, props: BundlingProps = {}): Record<string, unknown> {
  const made = bundle(title, {
    ...optionsOf(props),
    minify: false,
    sourcemap: false,
    entryPoints: [file],
    outfile: join(packageFolderOf(file), 'loaded.mjs'),
  })
  if (!props.loader?.['.node']) refuseNative(title, made.inputs)
  const exports = loaded.get(made) ?? evaluate(file, made)
  loaded.set(made, exports)
  return exports
}

/** The generated file is in the file's own package while Node loads it, since Node finds `external` packages from there. */
function evaluate(file: string, { files: [code] }: Bundle): Record<string, unknown> {
  const generated = join(packageFolderOf(file), '.baton', 'loading', `${randomUUID()}.mjs`)
  writeGenerated(generated, Buffer.from(code?.contents ?? []).toString())
  try {
    return createRequire(import.meta.url)(generated) as Record<string, unknown>
  } finally {
    rmSync(generated, { force: true })
  }
}

function packageFolderOf(file: string): string {
  return nearest(dirname(file), ['package.json']) ?? dirname(file)
}
