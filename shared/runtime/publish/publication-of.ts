import type { PublishBody } from '../../api/publish.ts'
import { MEMBER_RETENTION_MS_MIN } from '../../core/bounds.ts'
import type { FieldProblem } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import {
  DEFAULT_OPTIONS,
  type Options,
  type PartialOptions,
  resolveOptions,
} from '../../core/options/options.ts'
import { overlaidOptions } from '../../core/options/overlaid-options.ts'
import type { CallbackBodies, HandedOn, Publication } from '../../core/publish/publish.ts'
import { flowOptionProblems } from '../../core/rules/type-configuration.ts'
import type { Member } from '../../core/task/canvas-state.ts'
import { taskId } from '../../core/task/task.ts'
import {
  defaultOrdering,
  shardOf,
  type TaskType,
  type TypeConfiguration,
} from '../../core/types/task-type.ts'
import { webhookInputProblems } from '../../core/types/webhook-url.ts'
import type { System } from '../kernel/system.ts'
import { newTraceparent } from '../kernel/traceparent.ts'
import type { TypeReader } from '../types/type-cache.ts'
import { flowInputProblems, resolveFlow } from './resolve-flow.ts'

/** What a publish says alike as it is sent and as it is resolved. */
type SaidAlike =
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
 * A publish, checked field by field; times are milliseconds since the epoch. Of `dueAt` and `delayMs` at most one is given;
 * neither means now. A key is made up when it is left out. `debounce` and `throttle` come with a key, and without `ifExists`
 * and a due time: see `decide-publish.ts`.
 */
export type PublishRequest = Pick<PublishBody, SaidAlike> & {
  readonly dueAt?: number
  readonly options?: PartialOptions
  /** What is published when it has succeeded or failed; without `key` each gets one that follows from this task. */
  readonly onSuccess?: readonly PublishRequest[]
  readonly onError?: readonly PublishRequest[]
  /** Takes nothing that is handed on. */
  readonly immutable?: true
  /** Its key follows from what caused it: it is published once, even if it has been removed or its time is over since. */
  readonly once?: true
  readonly previous?: HandedOn
  readonly parentId?: string
  readonly member?: Member
  /** When it came, and its place among those that came with it. @default when it is published */
  readonly arrival?: Arrival
  /** The principal that asks for it; a task that is there notes by whom `ifExists` changed it. */
  readonly by?: string
}

/** Tasks that come together are due at one time, and the births that they begin with are in their order. */
export type Arrival = { readonly at: number; readonly born: string }

/** The arrivals of so many tasks that come together. */
export function createArrivals(
  { clock, chance }: Pick<System, 'clock' | 'chance'>,
  count: number,
): Arrival[] {
  const at = clock.now()
  return Array.from({ length: count }, () => ({ at, born: chance.ulid(at) }))
}

/** A publication without the birth that each attempt to write it gets. */
export type PublicationDraft = Omit<Publication, 'born'>

/** A type that is named and not registered, and where. */
export type UnknownType = { readonly type: string; readonly path: string }

/** What keeps a request from being published. */
type Refused = {
  readonly ok: false
  readonly problems: readonly FieldProblem[]
  readonly unknown: readonly UnknownType[]
}

type Resolved = { readonly ok: true; readonly publication: PublicationDraft } | Refused

type Settings = Pick<System, 'clock' | 'chance'> & { readonly typeOf: TypeReader }

/**
 * The request with everything resolved: its type's defaults, a key, a trace, the steps of a flow. What is to be published
 * at its end is held against its own types, too, so that it cannot turn out impossible then.
 */
export async function resolvePublication(
  settings: Settings,
  type: TaskType,
  request: PublishRequest,
): Promise<Resolved> {
  const overlaid = overlaidOptions(typeOptions(type.configuration), request.options ?? {})
  const isFlow = type.configuration.kind === 'flow'
  const flow = isFlow ? await resolveFlow(settings.typeOf, type) : undefined
  const followers = await followerProblems(settings, request)
  const problems = [
    ...(overlaid.ok ? [] : overlaid.problems),
    ...(flow ? flowProblems(type, request) : []),
    ...webhookInputProblems(type.configuration, request.input),
    ...(flow && !flow.ok ? flow.problems : []),
    ...followers.flatMap(refused => refused.problems),
  ]
  const unknown = followers.flatMap(refused => refused.unknown)
  if (problems.length + unknown.length > 0 || !overlaid.ok) return { ok: false, problems, unknown }
  const publication = resolved(settings, type, request, overlaid.options)
  const limitFields = await limitFieldsOf(settings, type)
  return {
    ok: true,
    publication: {
      ...publication,
      ...(flow?.ok && { flow: flow.definition }),
      ...(limitFields.length > 0 && { limitFields }),
    },
  }
}

/** Fields of the input that limits of the type, and of those that do its steps, count its tasks by. */
async function limitFieldsOf({ typeOf }: Settings, type: TaskType): Promise<string[]> {
  const steps = (type.configuration.steps ?? []).flatMap(step => [step.do, ...(step.undo ? [step.undo] : [])])
  const types = [type, ...(await Promise.all(steps.map(action => typeOf(action.type))))]
  const keys = types.flatMap(one => {
    const { rate, concurrency } = one?.configuration.limits ?? {}
    return [rate?.key, concurrency?.key]
  })
  return [...new Set(keys)].filter(
    key => key !== undefined && key !== 'userId' && key !== 'fairnessKey',
  ) as string[]
}

function flowProblems(
  { configuration }: TaskType,
  { options = {}, input, stage }: PublishRequest,
): FieldProblem[] {
  const { steps = [] } = configuration
  const staged = stage === undefined ? [] : [{ path: 'stage', message: 'is for tasks that are no flows' }]
  return [...flowOptionProblems(options), ...flowInputProblems(steps, input), ...staged]
}

/** What keeps the tasks that follow its end from being published, by their paths. */
async function followerProblems(settings: Settings, request: PublishRequest): Promise<Refused[]> {
  const members = (['onSuccess', 'onError'] as const).flatMap(when =>
    (request[when] ?? []).map((callback, index) => ({ callback, at: `${when}.${index}` })),
  )
  const found = await Promise.all(
    members.map(async ({ callback, at }) => {
      const type = await settings.typeOf(callback.type)
      if (!type) return [refusedAt(at, { problems: [], unknown: [{ type: callback.type, path: 'type' }] })]
      const resolved = await resolvePublication(settings, type, callback)
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

function resolved(
  { clock, chance }: Settings,
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
    options: keptLongEnough(options, request),
    ...(input !== undefined && { input }),
    ...(userId !== undefined && { userId }),
    ...(tags !== undefined && { tags }),
    ...(request.fairnessKey !== undefined ? { fairnessKey: request.fairnessKey } : isFair && { isFair }),
    ...placeIn(request),
    traceparent: request.traceparent ?? newTraceparent(chance),
  }
}

/** Members are read when others need their results; what is throttled must be there as long as its window. */
function keptLongEnough(options: Options, { member, throttle }: PublishRequest): Options {
  const least = Math.max(member ? MEMBER_RETENTION_MS_MIN : 0, throttle?.perMs ?? 0)
  return least <= options.retentionMs ? options : { ...options, retentionMs: least }
}

/** Where the task begins, where it comes from, and what follows it. */
function placeIn(request: PublishRequest): Partial<PublicationDraft> {
  const { stage, immutable, previous, parentId, member } = request
  const callbacks = callbacksIn(request)
  return {
    ...(stage !== undefined && { stage }),
    ...(immutable && { immutable }),
    ...(previous && !immutable && { previous }),
    ...(parentId !== undefined && { parentId }),
    ...(member && { member }),
    ...(callbacks && { callbacks }),
  }
}

/** Stored as requests: what they leave out is filled in when they are published. */
function callbacksIn({ onSuccess = [], onError = [] }: PublishRequest): CallbackBodies | undefined {
  if (onSuccess.length + onError.length === 0) return undefined
  return { onSuccess: onSuccess as unknown as Json[], onError: onError as unknown as Json[] }
}

/**
 * The publication under a birth that no earlier attempt has used: an attempt that seemed to lose its race may have been
 * written, its answer lost, and have been restarted by somebody else since.
 */
export function withNewBirth(
  { clock, chance }: Pick<System, 'clock' | 'chance'>,
  publication: PublicationDraft,
): Publication {
  return { ...publication, born: chance.ulid(clock.now()) }
}

/** Options of the type's tasks that say nothing themselves. Defaults that a deployment left at odds count as they are. */
export function typeOptions({ defaults }: Pick<TypeConfiguration, 'defaults'>): Options {
  const { priority: _priority, ...options } = defaults
  const overlaid = overlaidOptions(DEFAULT_OPTIONS, options)
  return overlaid.ok ? overlaid.options : resolveOptions(options)
}
