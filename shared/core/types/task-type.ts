/**
 * A task type is what all tasks of one name have in common: the kind of its handler, its default options, its order and its limits.
 * A change of a type reaches the tasks that wait by jobs.
 */

import { DEFAULT_SHARDS } from '../bounds.ts'
import type { PartialOptions, Retry } from '../options.ts'
import type { Ordering, TypeKind } from '../states.ts'
import { CANVAS_TYPE, type OperationRecord, SCHEDULE_TYPE, type View } from '../task/head-fields.ts'
import type { Status } from '../task/lifecycle.ts'
import { hash32 } from '../values/text.ts'
import type { Json } from '../values/values.ts'

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
export type RateLimit<Key extends string = string> = {
  /** How many runs may start in any span of `perMs`. From 1. */
  readonly limit: number
  /** The span, in milliseconds. */
  readonly perMs: number
  /** A field of the input, `userId` or `fairnessKey`: each of its values has the limit of its own. @default one limit for the type */
  readonly key?: Key
}

/** At most `max` runs at a time. With `key`, each value of that field has this limit of its own. */
export type ConcurrencyLimit<Key extends string = string> = {
  /** How many runs may be under way at a time. From 1. */
  readonly max: number
  /** A field of the input, `userId` or `fairnessKey`: each of its values has the limit of its own. @default one limit for the type */
  readonly key?: Key
}

/** Limits of a type: how often its tasks start, and how many run at a time. */
export type TypeLimits<Key extends string = string> = {
  /** How many runs may start per period. @default no limit */
  readonly rate?: RateLimit<Key>
  /** How many runs may be under way at a time. @default no limit */
  readonly concurrency?: ConcurrencyLimit<Key>
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
  /** The JSON Schema of the input: inputs are compared with it on arrival, and forms are made from it. At most 32 KB. */
  readonly inputSchema?: { readonly [name: string]: Json }
  /** The record that holds `inputSchema`, in the stored form of a type. */
  readonly schemaName?: string
  /** Whether inputs are compared with `inputSchema` on arrival. @default true */
  readonly checkInput?: boolean
}

/** Jobs by which changed limits, another kind or order, or other allowed steps reach the open tasks. */
export type Unapplied = 'relimit' | 'reorder' | 'resume'

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
  /**
   * The types that callbacks and steps of its tasks may have besides its own. Only deployment sets it. Undefined: any type.
   * See `other-types.ts`.
   */
  readonly otherTypes?: readonly string[]
  /** The types of steps that an earlier configuration named. Flows that were published then may still be at one of them. */
  readonly formerSteps?: readonly string[]
  /** The version under which the deployed Lambda function claims. */
  readonly handlerVersion?: string
  /** The purges that are under way. */
  readonly purges?: readonly PurgeJob[]
  /** The ids of the bulk operations that are under way. */
  readonly bulks?: readonly string[]
  /** The ids of its last few bulk operations, earliest first. */
  readonly lastBulks?: readonly string[]
  /** Jobs by which a changed configuration must still reach waiting tasks. A process that finds a job here starts it. */
  readonly unapplied?: readonly Unapplied[]
  /** The number of changes that people asked for; 0 when left out. See `Edited` in `core/change.ts`. */
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

/** The keys by which the limits of a type count. */
export function limitKeys({
  limits: { rate, concurrency } = {},
}: Pick<TypeConfiguration, 'limits'>): string[] {
  return [rate?.key, concurrency?.key].filter(key => key !== undefined)
}

/** The types that do or undo the steps of a flow. */
export function stepTypes({ steps = [] }: Pick<TypeConfiguration, 'steps'>): string[] {
  const types = steps.flatMap(step => [step.do.type, ...(step.undo ? [step.undo.type] : [])])
  return [...new Set(types)]
}

/** The order in which a type's tasks are run when its configuration does not state one. */
export function defaultOrdering(kind: TypeKind): Ordering {
  return kind === 'http' ? 'priority' : 'arrival'
}

/** The type whose queue and function serve the tasks of `type`. All types of kind `webhook` share the queue and function of the shipped type. */
export function servingType(type: string, kind: TypeKind): string {
  return kind === 'webhook' ? 'webhook' : type
}

/** The number of partitions over which each bucket of the type's indexes is spread. */
export function shardsOf({ shards = DEFAULT_SHARDS }: TypeConfiguration): number {
  return shards
}

/** Whether tasks of the type may undo steps: the type is a flow, or was one. */
export function mayHaveFlows({ configuration, wasFlow }: TaskType): boolean {
  return configuration.kind === 'flow' || wasFlow === true
}

/** The numbers of the partitions over which each bucket of the type's indexes is spread. */
export function shardNumbers({ configuration }: Pick<TaskType, 'configuration'>): number[] {
  return [...Array(shardsOf(configuration)).keys()]
}

/** The partition of a new task of the type. */
export function shardOf(id: string, configuration: TypeConfiguration): number {
  return hash32(id) % shardsOf(configuration)
}

/** SQS allows 80 of [A-Za-z0-9_-] in a queue's name. Source: SQS quotas. */
const QUEUE_NAME_CHARACTERS_MAX = 80
const HASH_LENGTH = 8

/**
 * The name of the queue that serves a task type. It follows from the system's name and the type alone, so no function needs a table
 * of queue URLs, which would not fit into 4 KB of environment variables. The name ends in a hash of the type when the type has a
 * dot, is too long, or could be mistaken for such a hashed name.
 */
export function queueNameOf(system: string, type: string): string {
  const plain = `${system}-q-${type}`
  const looksHashed = /-[0-9a-f]{8}$/.test(type)
  if (!type.includes('.') && !looksHashed && plain.length <= QUEUE_NAME_CHARACTERS_MAX) return plain
  const digest = hash32(type).toString(16).padStart(HASH_LENGTH, '0')
  return `${plain.replaceAll('.', '_').slice(0, QUEUE_NAME_CHARACTERS_MAX - HASH_LENGTH - 1)}-${digest}`
}

/** Names that no task type may have: what each name stands for, and how to publish or set that. */
const RESERVED: Readonly<Record<string, string>> = {
  [CANVAS_TYPE]: 'stands for canvases, which are published with POST /v1/canvases',
  [SCHEDULE_TYPE]: 'stands for schedules, which are set with PUT /v1/schedules/{name}',
}

/** The purpose for which the name is reserved; undefined when a task type may have it. */
export function reservedFor(type: string): string | undefined {
  return Object.hasOwn(RESERVED, type) ? RESERVED[type] : undefined
}

/**
 * A job that the jobs function does on the tasks of a type one after the other, in the background.
 *
 * - `resume`   dispatches waiting tasks again, because their dispatches were dropped while the type was paused
 * - `relimit`  looks at the lines in which tasks wait, since the limits have changed
 * - `reorder`  gives open tasks the present kind and order of their type, and of the types of their steps
 * - `purge`    removes tasks in some statuses
 * - `bulk`     does for many tasks what an operator does for one; `runtime/jobs/bulk.ts` has the story
 */
export type TypeJob =
  | { readonly kind: 'resume' }
  | { readonly kind: 'relimit' }
  | { readonly kind: 'reorder' }
  | PurgeJob
  | { readonly kind: 'bulk'; readonly id: string }

/**
 * A message that makes the jobs function continue a job on the tasks in one partition of their type's view, from `after` on.
 * `delaySeconds` is a whole number from 0 to 900.
 */
export type JobLook = {
  readonly type: string
  readonly job: TypeJob
  readonly bucket: View['bucket']
  readonly shard: number
  readonly after?: { readonly id: string; readonly sort: number | string }
  readonly delaySeconds: number
}

export type PurgeJob = {
  readonly kind: 'purge'
  readonly statuses: readonly Status[]
  /** The purge covers ended tasks that ended before this time, and open tasks that were published before it. */
  readonly before: number
  /** The time at which a caller asked for the purge. */
  readonly askedAt: number
  /** Set on the second pass. A purge goes through all tasks twice, because an index may show a task late. */
  readonly isSecond?: true
  /** Set once this pass has left a task in place, because an open canvas needs it. */
  readonly hasSpared?: true
}
