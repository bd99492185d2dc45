/**
 * A publish creates a task. It makes a head from the resolved request and keeps large bodies apart. It overwrites only the remains
 * of a task that is gone. `update` changes an existing task that is not running.
 */

import type { BodyWrite, Change, Decision, Start } from './change.ts'
import { beginBirth, refuse, revise } from './change.ts'
import { openStage, startFlow, withPastSuccesses } from './flow/pieces.ts'
import { limitValuesOf } from './limits/limits.ts'
import type { Options } from './options.ts'
import { judgeBudget } from './run/judge-budget.ts'
import type { Ordering, TypeKind } from './states.ts'
import type { FlowDefinition } from './task/flow-state.ts'
import type { Body, HeadFields, Member } from './task/head-fields.ts'
import { afterFirstEnd, bodyExpiry, bodyOf, bodyRef } from './task/head-fields.ts'
import { type Callbacks, type HandOn, liveRuns, type Previous, type Task, taskId } from './task/task.ts'
import { defined, type Json } from './values/values.ts'

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

/** The draft with which a birth begins. Later births of a key go on counting revisions and fences (see `firstFence`). */
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

/**
 * Carries out `ifExists: update`. A task that is neither running nor ended takes the input, the due time and the options of
 * `publication`. It keeps its user, trace and creation time, and its tenant unless the publication names one. It also keeps its
 * ended runs, so a lowered `concurrency` or budget may end the task.
 */
export function update(task: Task, publication: Publication, now: number): Decision<'running' | 'finished'> {
  if (task.state !== 'open') return refuse('finished')
  if (!isUpdatable(task)) return refuse('running')
  const start = { revision: task.revision + 1, fence: task.fence, operation: 'update' as const }
  const { task: fresh, bodies } = newborn({ ...publication, born: task.born, shard: task.shard }, start, now)
  const draft: Task = {
    ...fresh,
    createdAt: task.createdAt,
    ...keptRuns(task, publication),
    ...defined({
      fairnessKey: fresh.fairnessKey ?? task.fairnessKey,
      userId: task.userId,
      traceparent: task.traceparent,
      startedAt: task.startedAt,
      error: task.error,
      operations: task.operations,
      causedBy: fresh.causedBy ?? task.causedBy,
    }),
    // The same tenant keeps its turn.
    ...(task.place && (fresh.fairnessKey ?? task.fairnessKey) === task.fairnessKey && { place: task.place }),
    ...keptParents(task),
  }
  const staged = draft.stage === task.stage ? draft : withStage(draft, task.stage, now)
  return revise(task, judgeBudget(staged, now), now, { bodies })
}

/** Whether the task is open and no run or begun flow is at work on it. */
export function isUpdatable(task: Task): boolean {
  return task.state === 'open' && liveRuns(task).length === 0 && !hasBegun(task)
}

/** The runs and failures that the task keeps. Runs from before its type became a flow count for no step of the flow. */
function keptRuns(task: Task, { flow }: Publication): Pick<Task, 'ended' | 'failures' | 'failuresBy'> {
  if (flow) return { ended: withPastSuccesses(task), failures: 0, failuresBy: {} }
  const { ended, failures, failuresBy } = task
  return { ended, failures, failuresBy }
}

/** Whether a step of the flow has begun. Such a flow is at work even between two runs. */
export function hasBegun({ flow }: Task): boolean {
  return flow !== undefined && Object.keys(flow.steps).length > 0
}

/** The fields that tie the task to its parent or canvas, which an update does not change. */
function keptParents({ parentId, member, previous, immutable }: Task): Partial<Task> {
  return defined({ parentId, member, previous, immutable })
}

/** The draft in the publication's stage, which begins afresh. If the publication names no stage, the task keeps its own. */
function withStage(draft: Task, former: string | undefined, now: number): Task {
  const { stage, dueAt } = draft
  if (stage === undefined) return former === undefined ? draft : { ...draft, stage: former }
  return openStage({ ...draft, ...(former !== undefined && { stage: former }) }, { stage, dueAt }, now)
}
