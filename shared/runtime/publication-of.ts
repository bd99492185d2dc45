import type { FieldProblem } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import { DEFAULT_OPTIONS, type Options, type PartialOptions, resolveOptions } from '../core/options.ts'
import { overlaidOptions } from '../core/overlaid-options.ts'
import type { Publication } from '../core/publish.ts'
import type { Clean } from '../core/restart.ts'
import { taskId } from '../core/task.ts'
import { defaultOrdering, shardOf, type TaskType, type TypeConfiguration } from '../core/task-type.ts'
import type { System } from './system.ts'
import { newTraceparent } from './traceparent.ts'

type IfExists = 'keep' | 'update' | 'reject' | 'restart'

/** A publish as asked for. Whoever makes one has checked each field by itself; times are ms since the epoch. */
export type PublishRequest = {
  readonly type: string
  /** Made up when left out. */
  readonly key?: string
  readonly input?: Json
  readonly userId?: string
  readonly tags?: Readonly<Record<string, string>>
  /** At most one of these two; neither means now. */
  readonly dueAt?: number
  readonly delayMs?: number
  readonly priority?: number
  readonly options?: PartialOptions
  readonly ifExists?: IfExists
  /** Which runs a restart forgets; all of them by default. */
  readonly clean?: Clean
  readonly traceparent?: string
}

/** A publication without the birth that each attempt to write it gets. */
export type Unborn = Omit<Publication, 'born'>

type Resolved =
  | { readonly ok: true; readonly publication: Unborn }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/** The request with everything resolved: its type's defaults, a key, a trace. */
export function publicationOf(
  { clock, chance }: Pick<System, 'clock' | 'chance'>,
  { type, configuration }: TaskType,
  request: PublishRequest,
): Resolved {
  const overlaid = overlaidOptions(typeOptions(configuration), request.options ?? {})
  if (!overlaid.ok) return overlaid
  const now = clock.now()
  const { key = chance.ulid(now), input, userId, tags } = request
  const publication: Unborn = {
    type,
    key,
    kind: configuration.kind,
    ordering: configuration.ordering ?? defaultOrdering(configuration.kind),
    shard: shardOf(taskId(type, key), configuration),
    dueAt: request.dueAt ?? now + (request.delayMs ?? 0),
    priority: request.priority ?? configuration.defaults.priority ?? 0,
    options: overlaid.options,
    ...(input !== undefined && { input }),
    ...(userId !== undefined && { userId }),
    ...(tags !== undefined && { tags }),
    traceparent: request.traceparent ?? newTraceparent(chance),
  }
  return { ok: true, publication }
}

/**
 * The publication under a birth that no earlier attempt has used: one that seemed to lose its race may have been
 * written, its answer lost, and have been restarted by somebody else since.
 */
export function withOwnBirth(
  { clock, chance }: Pick<System, 'clock' | 'chance'>,
  publication: Unborn,
): Publication {
  return { ...publication, born: chance.ulid(clock.now()) }
}

/** Options of the type's tasks that say nothing themselves. Defaults that a deployment left at odds count as they are. */
function typeOptions({ defaults }: Pick<TypeConfiguration, 'defaults'>): Options {
  const { priority: _priority, ...options } = defaults
  const overlaid = overlaidOptions(DEFAULT_OPTIONS, options)
  return overlaid.ok ? overlaid.options : resolveOptions(options)
}
