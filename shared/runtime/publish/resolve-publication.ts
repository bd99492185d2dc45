import type { DerivedBody, PublishBody } from '../../api/publish.ts'
import { MEMBER_RETENTION_MS_MIN } from '../../core/bounds.ts'
import type { Options, PartialOptions, PatchedOptions } from '../../core/options.ts'
import { DEFAULT_OPTIONS, OPTION_NAMES, overlaidOptions, resolveOptions } from '../../core/options.ts'
import type { CallbackBodies, HandedOn, Publication } from '../../core/publish.ts'
import type { Member } from '../../core/task/head-fields.ts'
import { taskId } from '../../core/task/task.ts'
import { mayCall, notAllowed } from '../../core/types/other-types.ts'
import type { TaskType, TypeConfiguration } from '../../core/types/task-type.ts'
import { defaultOrdering, limitKeys, shardOf, stepTypes } from '../../core/types/task-type.ts'
import { webhookInputProblems } from '../../core/types/webhook.ts'
import { defined, type FieldProblem, type Json } from '../../core/values/values.ts'
import { newTraceparent } from '../kernel/log-run-ends.ts'
import type { System } from '../kernel/system.ts'
import type { TypeReader } from '../types/type-cache.ts'
import { flowProblems, resolveFlow } from './resolve-flow.ts'

/** Fields that a request has in the same form before and after it is resolved. */
type SharedFields =
  | 'type'
  | 'key'
  | 'input'
  | 'userId'
  | 'tags'
  | 'delayMs'
  | 'priority'
  | 'stage'
  | 'traceparent'
  | 'fairnessKey'
  | 'ifExists'
  | 'clean'
  | 'debounce'
  | 'throttle'

/**
 * A publish request whose fields were checked one by one; times are milliseconds since the epoch. At most one
 * of `dueAt` and `delayMs` is given; without both, the task is due now. A missing key is generated. `debounce`
 * and `throttle` need a key and exclude `ifExists` and a due time: see `decide-publish.ts`.
 */
export type PublishRequest = Pick<PublishBody, SharedFields> & {
  readonly dueAt?: number
  readonly options?: PartialOptions
  /**
   * The callbacks that are published when the task has succeeded or failed. A callback without `key` gets one that follows from this task.
   */
  readonly onSuccess?: readonly PublishRequest[]
  readonly onError?: readonly PublishRequest[]
  /** The task takes no result that is handed on. */
  readonly immutable?: true
  /** The key follows from what caused the publish: the task is published once, even if it was removed or has expired since. */
  readonly once?: true
  readonly previous?: HandedOn
  readonly parentId?: string
  /** The callback that this publish comes from. A task that names the same callback already is left as it is. */
  readonly causedBy?: string
  readonly member?: Member
  /**
   * When the request arrived, and its order among those that arrived with it.
   *
   * @default the time of the publish
   */
  readonly arrival?: Arrival
  /** The principal that asks for the publish. An existing task records it when `ifExists` changes the task. */
  readonly by?: string
}

/** Tasks that arrive together are due at the same time, and their births sort in their order. */
type Arrival = { readonly at: number; readonly born: string }

/** Creates the arrivals of a number of tasks that arrive together. */
export function createArrivals(
  { clock, chance }: Pick<System, 'clock' | 'chance'>,
  count: number,
): Arrival[] {
  const at = clock.now()
  return Array.from({ length: count }, () => ({ at, born: chance.ulid(at) }))
}

/** A publication without its birth: each attempt to write it gets a new one. */
export type PublicationDraft = Omit<Publication, 'born'>

/** A type that a request names but that is not registered, and where it is named. */
export type UnknownType = { readonly type: string; readonly path: string }

type Refused = {
  readonly ok: false
  readonly problems: readonly FieldProblem[]
  readonly unknown: readonly UnknownType[]
}

type ResolvedPublication = { readonly ok: true; readonly publication: PublicationDraft } | Refused

type ResolveContext = Pick<System, 'clock' | 'chance' | 'checkInput'> & {
  readonly typeOf: TypeReader
  /** The request is a callback or a member of a canvas: a value may be handed on to it before it runs. */
  readonly isHandedOnTo?: true
}

/**
 * Resolves a request: the defaults of its type, a key, a trace, and the steps of a flow. Callbacks are checked
 * against their own types, too, so that they are not refused later.
 */
export async function resolvePublication(
  context: ResolveContext,
  type: TaskType,
  request: PublishRequest,
): Promise<ResolvedPublication> {
  const overlaid = overlaidOptions(typeOptions(type.configuration), request.options ?? {})
  const isFlow = type.configuration.kind === 'flow'
  const flow = isFlow ? await resolveFlow(context.typeOf, type) : undefined
  const refusedCallbacks = await callbackProblems({ ...context, isHandedOnTo: true }, type, request)
  const problems = [
    ...(overlaid.ok ? [] : overlaid.problems),
    ...(flow ? flowProblems(type.configuration.steps ?? [], request) : []),
    ...webhookInputProblems(type.configuration, request.input),
    ...(await inputProblems(context, type, request)),
    ...(flow && !flow.ok ? flow.problems : []),
    ...refusedCallbacks.flatMap(refused => refused.problems),
  ]
  const unknown = refusedCallbacks.flatMap(refused => refused.unknown)
  if (problems.length + unknown.length > 0 || !overlaid.ok) return { ok: false, problems, unknown }
  const publication = draftOf(context, type, request, overlaid.options)
  const limitFields = await limitFieldsOf(context, type)
  return {
    ok: true,
    publication: {
      ...publication,
      ...(flow?.ok && { flow: flow.definition }),
      ...(limitFields.length > 0 && { limitFields }),
    },
  }
}

/**
 * Problems of an input that arrives, by the schema of its type. A list that takes what is handed on is not complete yet. A member that is
 * published was checked with its canvas.
 */
async function inputProblems(
  { checkInput, isHandedOnTo }: ResolveContext,
  { configuration }: TaskType,
  { input, immutable, member }: PublishRequest,
): Promise<readonly FieldProblem[]> {
  const isIncomplete = isHandedOnTo && !immutable && Array.isArray(input)
  return !checkInput || member || isIncomplete ? [] : checkInput(configuration, input)
}

/** Like `resolvePublication`, for a request whose type is not read yet. */
export async function resolveRequest(
  context: ResolveContext,
  request: PublishRequest,
): Promise<ResolvedPublication> {
  const type = await context.typeOf(request.type)
  if (type) return resolvePublication(context, type, request)
  return { ok: false, problems: [], unknown: [{ type: request.type, path: 'type' }] }
}

/** The input fields by which limits count the task: limits of its type and of the types of its steps. */
async function limitFieldsOf({ typeOf }: ResolveContext, type: TaskType): Promise<string[]> {
  const types = [type, ...(await Promise.all(stepTypes(type.configuration).map(typeOf)))]
  const keys = types.flatMap(one => (one ? limitKeys(one.configuration) : []))
  return [...new Set(keys)].filter(key => key !== 'userId' && key !== 'fairnessKey')
}

/** Problems of the callbacks, with their paths. Deployment may have bound the type to some types of callbacks. */
async function callbackProblems(
  context: ResolveContext,
  type: TaskType,
  request: PublishRequest,
): Promise<Refused[]> {
  const callbacks = (['onSuccess', 'onError'] as const).flatMap(when =>
    (request[when] ?? []).map((callback, index) => ({ callback, at: `${when}.${index}` })),
  )
  const found = await Promise.all(
    callbacks.map(async ({ callback, at }) => {
      if (!mayCall(type, callback.type)) return [refusedAt(at, notAllowed(type, callback.type))]
      const resolved = await resolveRequest(context, callback)
      return resolved.ok ? [] : [refusedAt(at, resolved)]
    }),
  )
  return found.flat()
}

function refusedAt(at: string, { problems, unknown }: Omit<Refused, 'ok'>): Refused {
  return {
    ok: false,
    problems: problems.map(problem => ({ ...problem, path: `${at}.${problem.path}` })),
    unknown: unknown.map(one => ({ ...one, path: `${at}.${one.path}` })),
  }
}

function draftOf(
  { clock, chance }: ResolveContext,
  { type, configuration, isFair }: TaskType,
  request: PublishRequest,
  options: Options,
): PublicationDraft {
  const now = request.arrival?.at ?? clock.now()
  const { key = chance.ulid(now), input, userId, tags } = request
  return {
    type,
    key,
    kind: configuration.kind,
    ordering: configuration.ordering ?? defaultOrdering(configuration.kind),
    shard: shardOf(taskId(type, key), configuration),
    dueAt: request.dueAt ?? now + (request.delayMs ?? request.debounce?.ms ?? 0),
    priority: request.priority ?? configuration.defaults.priority ?? 0,
    options: withLongEnoughRetention(options, request),
    ...defined({ input, userId, tags }),
    ...(request.fairnessKey !== undefined ? { fairnessKey: request.fairnessKey } : isFair && { isFair }),
    ...originFields(request),
    traceparent: request.traceparent ?? newTraceparent(chance),
  }
}

/**
 * The options with a retention that is long enough. A member of a canvas is read when other members need its result; a
 * throttled task must exist as long as its window.
 */
function withLongEnoughRetention(options: Options, { member, throttle }: PublishRequest): Options {
  const least = Math.max(member ? MEMBER_RETENTION_MS_MIN : 0, throttle?.perMs ?? 0)
  return least <= options.retentionMs ? options : { ...options, retentionMs: least }
}

/** Where the task starts, where it comes from, and which callbacks it has. */
function originFields(request: PublishRequest): Partial<PublicationDraft> {
  const { stage, immutable, previous, parentId, causedBy, member } = request
  const handedOn = immutable ? undefined : previous
  return defined({
    ...{ stage, immutable, previous: handedOn, parentId, causedBy, member },
    callbacks: callbackBodies(request),
  })
}

/** Callbacks are stored as requests and completed when they are published. */
function callbackBodies({ onSuccess = [], onError = [] }: PublishRequest): CallbackBodies | undefined {
  if (onSuccess.length + onError.length === 0) return undefined
  return { onSuccess: onSuccess as unknown as Json[], onError: onError as unknown as Json[] }
}

/**
 * The publication with a birth that no earlier attempt has used. An attempt that seemed to lose its race may
 * have been written after all, and have been restarted by another process since.
 */
export function withNewBirth(
  { clock, chance }: Pick<System, 'clock' | 'chance'>,
  publication: PublicationDraft,
): Publication {
  return { ...publication, born: chance.ulid(clock.now()) }
}

/** The default options of the type's tasks. Deployed defaults that contradict each other are used as they are. */
export function typeOptions({ defaults }: Pick<TypeConfiguration, 'defaults'>): Options {
  const { priority: _priority, ...options } = defaults
  const overlaid = overlaidOptions(DEFAULT_OPTIONS, options)
  return overlaid.ok ? overlaid.options : resolveOptions(options)
}

/** Turns a publish body, as the API and `ctx.publish` take it, into a request. Callbacks are requests of their own. */
export function requestOfBody(body: DerivedBody): PublishRequest {
  const { type, key, input, userId, tags, delayMs, priority, stage, immutable, traceparent, fairnessKey } =
    body
  const options = optionsIn<PartialOptions>(body)
  return {
    type,
    ...(Object.keys(options).length > 0 && { options }),
    ...defined({ key, input, userId, tags, delayMs, priority, stage, traceparent, fairnessKey }),
    ...(immutable && { immutable }),
    ...defined({
      dueAt: timeOf(body.dueAt),
      onSuccess: body.onSuccess?.map(requestOfBody),
      onError: body.onError?.map(requestOfBody),
    }),
  }
}

export function optionsIn<Body extends PatchedOptions = PartialOptions>(body: Body): Body {
  const found = OPTION_NAMES.flatMap(name => (body[name] === undefined ? [] : [[name, body[name]]]))
  return Object.fromEntries(found)
}

export function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text)
}
