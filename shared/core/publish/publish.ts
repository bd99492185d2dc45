/**
 * A publish creates a task. It makes a head from the resolved request and keeps large bodies apart. It overwrites only the remains
 * of a task that is gone. `update.ts` changes an existing task that is not running.
 */

import { type BodyWrite, beginBirth, type Change, type Start } from '../change/change.ts'
import { startFlow } from '../flow/pieces.ts'
import { limitValuesOf } from '../limits/limits.ts'
import type { Options } from '../options/options.ts'
import type { Ordering, TypeKind } from '../states.ts'
import { type Body, bodyExpiry, bodyOf, bodyRef } from '../task/body.ts'
import type { FlowDefinition } from '../task/flow-state.ts'
import { afterFirstEnd, type HeadFields, type Member } from '../task/head-fields.ts'
import { type Callbacks, type HandOn, type Previous, type Task, taskId } from '../task/task.ts'
import type { Json } from '../values/json.ts'

/** The request of a publish, with all defaults resolved. */
export type Publication = {
  readonly type: string
  readonly key: string
  readonly kind: TypeKind
  readonly ordering: Ordering
  readonly born: string
  readonly shard: number
  readonly dueAt: number
  readonly priority: number
  readonly options: Options
  readonly input?: Json
  /** The fields of the input by which limits of the type count the task. */
  readonly limitFields?: readonly string[]
  readonly fairnessKey?: string
  readonly isFair?: true
  readonly userId?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly traceparent?: string
  readonly stage?: string
  /** The resolved steps, for a type of kind `flow`. */
  readonly flow?: FlowDefinition
  readonly callbacks?: CallbackBodies
  readonly previous?: HandedOn
  readonly immutable?: true
  readonly parentId?: string
  readonly causedBy?: string
  readonly member?: Member
}

/** The callbacks that a task's end publishes, as publish bodies in JSON. */
export type CallbackBodies = { readonly onSuccess: readonly Json[]; readonly onError: readonly Json[] }

/** A value that is handed on, or a reference to it. */
export type HandedOn =
  | Exclude<Previous, { kind: 'body' }>
  | { readonly kind: 'value'; readonly handOn: HandOn; readonly value: Json }

type Owing = Pick<HeadFields, 'state' | 'expiresAt'> & { readonly owes?: true }

/**
 * Whether a head is gone: it never existed, is removed, or is past its retention, even if DynamoDB has not deleted it yet. A task
 * that owes callbacks is never gone, because a new birth of its key would lose them.
 */
export function isGone(head: Owing | undefined, now: number): boolean {
  if (head === undefined || head.state === 'removed') return true
  return head.expiresAt !== undefined && head.expiresAt <= now && !head.owes
}

/**
 * Creates a task where none exists, or over the remains of one that is gone. Remains of a canvas's member hand their end on, so that
 * the canvas counts it even if no planner has read it yet.
 */
export function create(publication: Publication, remains: Task | undefined, now: number): Change<Task> {
  const begin = (start: Start) => {
    const { task, bodies } = newborn(publication, start, now)
    const member = remains?.member && afterFirstEnd(remains.member, remains)
    return { draft: member ? { ...task, member } : task, bodies }
  }
  return beginBirth(remains, begin, now)
}

/** The fields of a task that has had no run. */
export const NOTHING_RUN = {
  retrying: false,
  live: {},
  ended: {},
  failures: 0,
  failuresBy: {},
  retryAtBy: {},
} as const

/** The draft with which a birth begins. Later births of a key keep counting revisions and fences (see `firstFence`). */
export function newborn(
  publication: Publication,
  start: Start,
  now: number,
): { task: Task; bodies: BodyWrite[] } {
  const { input, limitFields = [], callbacks, previous, flow, ...rest } = publication
  const { born } = publication
  const { deadlineMs, retentionMs } = publication.options
  const expiry = bodyExpiry(publication.dueAt, now, retentionMs)
  const bodies: BodyWrite[] = []
  const kept = (value: Json, ref: string): Body => {
    const { body, writes } = bodyOf(value, ref, expiry)
    bodies.push(...writes)
    return body
  }
  const task: Task = {
    ...rest,
    ...start,
    id: taskId(publication.type, publication.key),
    state: 'open',
    ...NOTHING_RUN,
    createdAt: now,
    updatedAt: now,
    ...(input !== undefined && { input: kept(input, bodyRef.input(born, start.revision, input)) }),
    ...(callbacks && { callbacks: keptCallbacks(callbacks, born, start.revision, kept) }),
    ...(previous && { previous: keptPrevious(previous, born, kept) }),
    ...(deadlineMs !== undefined && { deadlineAt: publication.dueAt + deadlineMs }),
  }
  const counted = { ...task, ...limitValuesOf(task, input, limitFields) }
  return { task: flow ? startFlow(counted, flow) : counted, bodies }
}

type Keep = (value: Json, ref: string) => Body

function keptCallbacks(
  { onSuccess, onError }: CallbackBodies,
  born: string,
  revision: number,
  kept: Keep,
): Callbacks {
  const value: Json = { onSuccess, onError }
  return {
    body: kept(value, bodyRef.callbacks(born, revision, value)),
    onSuccess: onSuccess.length,
    onError: onError.length,
  }
}

function keptPrevious(previous: HandedOn, born: string, kept: Keep): Previous {
  if (previous.kind !== 'value') return previous
  const { handOn, value } = previous
  return { kind: 'body', handOn, body: kept(value, bodyRef.previous(born, value)) }
}
