/**
 * A task type is what all tasks of one name have in common: the kind of its handler, its default options, its order and its limits.
 * `type-job.ts` has the jobs by which a change of a type reaches the tasks that wait.
 */

import { DEFAULT_SHARDS } from '../bounds.ts'
import type { PartialOptions, Retry } from '../options/options.ts'
import type { Ordering, TypeKind } from '../states.ts'
import type { OperationRecord } from '../task/head-fields.ts'
import { hash32 } from '../values/hash.ts'
import type { Json } from '../values/json.ts'
import type { PurgeJob } from './type-job.ts'

/** How a `webhook` type calls its receiver. */
export type WebhookSettings = {
  /** The URL of the receiver. The shipped type has none, because its tasks bring their URL as input. */
  readonly url?: string
  readonly timeoutMs?: number
  /** Name of the secret that signs the calls. */
  readonly secretName?: string
  /** Whether private and loopback addresses may be called. Link-local ones and metadata services never are. */
  readonly allowPrivate?: boolean
}

/** The action that does or undoes a step of a flow: a task type, and settings that differ from the type's own. */
export type StepActionConfiguration = {
  readonly type: string
  /** The input that the handler gets in place of the flow's parameters. */
  readonly input?: Json
  readonly timeoutMs?: number
  /** Time limit of the action, from its first claim and with its retries. */
  readonly deadlineMs?: number
  readonly retry?: Partial<Retry>
}

export type StepConfiguration = {
  readonly name: string
  readonly do: StepActionConfiguration
  readonly undo?: StepActionConfiguration
}

/** At most `limit` starts in any span of `perMs`. With `key`, each value of that field has this limit of its own. */
export type RateLimit = {
  /** How many runs may start in any span of `perMs`. From 1. */
  readonly limit: number
  /** The span, in milliseconds. */
  readonly perMs: number
  /** A field of the input, `userId` or `fairnessKey`: each of its values has the limit of its own. @default one limit for the type */
  readonly key?: string
}

/** At most `max` runs at a time. With `key`, each value of that field has this limit of its own. */
export type ConcurrencyLimit = {
  /** How many runs may be under way at a time. From 1. */
  readonly max: number
  /** A field of the input, `userId` or `fairnessKey`: each of its values has the limit of its own. @default one limit for the type */
  readonly key?: string
}

/** Limits of a type: how often its tasks start, and how many run at a time. */
export type TypeLimits = {
  /** How many runs may start per period. @default no limit */
  readonly rate?: RateLimit
  /** How many runs may be under way at a time. @default no limit */
  readonly concurrency?: ConcurrencyLimit
}

/** The configuration of a task type, set by `PUT /v1/types/{type}` or by the deployment of its handler. */
export type TypeConfiguration = {
  readonly kind: TypeKind
  readonly defaults: PartialOptions & { readonly priority?: number }
  readonly ordering?: Ordering
  readonly limits?: TypeLimits
  /** Partitions of its indexes. The number may only grow. */
  readonly shards?: number
  /** Whether changes of its tasks are published as events. @default false */
  readonly events?: boolean
  readonly webhook?: WebhookSettings
  /** The steps of kind `flow`, in order. */
  readonly steps?: readonly StepConfiguration[]
  /** For kind `flow`: whether a cancelled task undoes the steps that were done. @default 'undo' */
  readonly onCancel?: 'undo' | 'leave'
  /** The JSON Schema of the input, from which forms are made. Nothing is checked against it. At most 32 KB. */
  readonly inputSchema?: { readonly [name: string]: Json }
}

/** Jobs by which changed limits, or another kind or order, reach the open tasks. */
export type Unapplied = 'relimit' | 'reorder'

/** A task type as stored. */
export type TaskType = {
  readonly type: string
  readonly configuration: TypeConfiguration
  readonly paused: boolean
  /** Set once a task with a fairness key has been published. Workers then claim by turns. */
  readonly isFair?: true
  /** The time since which a deployed handler serves the type. Undefined when none does. HTTP types need no handler. */
  readonly handlerSince?: number
  /**
   * `workers`: standalone workers receive from the type's queue. `steps`: the type is a deployed flow. Undefined: a Lambda function
   * serves the type if it has a handler.
   */
  readonly servedBy?: 'workers' | 'steps'
  /** Set where the type is or was a flow at an earlier change. Flows that were published then may still undo their steps. */
  readonly wasFlow?: true
  /** The version under which the deployed Lambda function claims. */
  readonly handlerVersion?: string
  /** The purges that are under way. */
  readonly purges?: readonly PurgeJob[]
  /** Jobs by which a changed configuration must still reach waiting tasks. A process that finds a job here starts it. */
  readonly unapplied?: readonly Unapplied[]
  /** The number of changes that people asked for; 0 when left out. See `change/edits.ts`. */
  readonly edits?: number
  /** The last changes over the HTTP API. */
  readonly operations?: readonly OperationRecord[]
  /** Grows with every change. */
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** The present order of the type's tasks. A `reorder` job may still have to move waiting tasks to it. */
export function orderingOf({ configuration: { kind, ordering } }: Pick<TaskType, 'configuration'>): Ordering {
  return ordering ?? defaultOrdering(kind)
}

/** The jobs by which a change of configuration must reach the waiting tasks. */
export function unappliedBy(before: TypeConfiguration, after: TypeConfiguration): Unapplied[] {
  const isReordered =
    before.kind !== after.kind ||
    orderingOf({ configuration: before }) !== orderingOf({ configuration: after })
  return [
    ...(limitsIn(before) === limitsIn(after) ? [] : (['relimit'] as const)),
    ...(isReordered ? (['reorder'] as const) : []),
  ]
}

/** The type after the first publish with a fairness key. A `reorder` job gives turns to its waiting tasks. */
export function withTenants(type: TaskType): TaskType {
  return { ...type, isFair: true, unapplied: [...new Set([...(type.unapplied ?? []), 'reorder' as const])] }
}

function limitsIn({ limits: { rate, concurrency } = {} }: TypeConfiguration): string {
  return JSON.stringify([
    rate && [rate.limit, rate.perMs, rate.key],
    concurrency && [concurrency.max, concurrency.key],
  ])
}

/** The order in which a type's tasks are run when its configuration does not state one. */
export function defaultOrdering(kind: TypeKind): Ordering {
  return kind === 'http' ? 'priority' : 'arrival'
}

/** The type whose queue and function serve the tasks of `type`. All types of kind `webhook` share those of the shipped type. */
export function servingType(type: string, kind: TypeKind): string {
  return kind === 'webhook' ? 'webhook' : type
}

/** The number of partitions over which each bucket of the type's indexes is spread. */
export function shardsOf({ shards = DEFAULT_SHARDS }: TypeConfiguration): number {
  return shards
}

/** The numbers of the partitions over which each bucket of the type's indexes is spread. */
export function shardNumbers({ configuration }: Pick<TaskType, 'configuration'>): number[] {
  return [...Array(shardsOf(configuration)).keys()]
}

/** The partition of a new task of the type. */
export function shardOf(id: string, configuration: TypeConfiguration): number {
  return hash32(id) % shardsOf(configuration)
}
