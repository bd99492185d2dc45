/**
 * The glossary of Baton, and the type `Task`.
 *
 * What is stored
 * - task      one piece of work of a type, named by `type` and `key`; its id is `type:key`
 * - head      the item of a task, a canvas or a schedule: everything about it but large bodies and the records of failed runs.
 *             `head.ts` has the three kinds
 * - birth     one incarnation of a key, named by a ULID (`born`); nothing of an earlier birth can change a later one
 * - revision  a number that grows with every change except heartbeats and looks; a write names the revision that it was decided on
 * - write id  a random id that a write stores, so that its repetition recognises that it was applied
 * - place     the partition of the index `place` that has an entry of the task; a task is in at most one
 *
 * How a task runs
 * - dispatch  a queue message that names a task to claim
 * - ticket    a dispatch of a type whose tasks workers take in order: its receiver claims the best task of the type
 * - pass on   return a refused dispatch to its queue for another worker
 * - claim     the conditional write by which a worker takes a task
 * - run       one worker's hold on one task, from the claim to the run's end
 * - lease     the time until which no other worker may take over a run; each heartbeat extends it
 * - fence     a number that grows with every claim of a task; every later write of the run carries it
 * - look      a delayed message that makes the waker read a task again; a wake is any message to the waker or the jobs function
 * - piece     what one claim is for: the whole task, one of its stages, or the `do` or `undo` of a flow's step
 * - target    a worker that a task names in `workerIds`; a marker, an item of its own, announces the task to the worker
 *
 * What makes a task wait
 * - limit     a rule of a type about its runs: a rate limit or a concurrency limit (bounds are constants of the system)
 * - slot      a start that is reserved for a task under a rate limit
 * - permit    the right to run under a concurrency limit; its holder is recorded until it gives the permit back
 * - admit     ask all limits whether a run of a task may begin
 * - tenant    all tasks of a type with one fairness key
 * - turn      the position of a tenant's task among the tasks of all tenants; see `place/fair.ts`
 * - line      the tasks whose turns are compared: one type, and one priority where the type is ordered by priority
 *
 * What publishes tasks
 * - schedule  a name under which a task is published again and again; each time is a tick
 * - canvas    a chain, group or chord of tasks; its tasks are its leaves, numbered, and each is a member of it
 * - flow      a task that runs steps one by one and undoes them in reverse order after a failure
 * - callback  a task that is published at the end of another; the ended task owes it until then
 *
 * Times are milliseconds since the epoch. Values never change in place: a transition returns a new task.
 */

import type { ENDED_RUN_STATES, Ordering, TypeKind } from '../states.ts'
import { shortError, type TaskError } from '../task-error/task-error.ts'
import type { FieldProblem, Json } from '../values/values.ts'
import type { FlowState } from './flow-state.ts'
import type { Body, HeadFields, Member, Place } from './head-fields.ts'

/** The callbacks that a task's end publishes. The numbers show whether an end owes any callback, without reading the body. */
export type Callbacks = { readonly body: Body; readonly onSuccess: number; readonly onError: number }

/** Callbacks that the task owes and that the present configuration of a type rejects. */
export type Unpublished = {
  /** Indices, from 0, among the callbacks for its end. The others have been published. */
  readonly indices: readonly number[]
  /** The first few problems, each with its path such as `onSuccess.0.deadlineMs`. */
  readonly problems: readonly FieldProblem[]
  /** When the problems were found. A later change of a type may have removed them. */
  readonly judgedAt: number
  /** The revision of the end that owes them, from which their keys follow. */
  readonly revision: number
}

/** The head of a task: what the kinds of heads share, and what only tasks have. */
export type Task = HeadFields & {
  readonly kind: TypeKind
  readonly ordering: Ordering
  /** Set while `dueAt` is the time of a retry. */
  readonly retrying: boolean
  readonly deadlineAt?: number
  readonly priority: number
  readonly userId?: string
  readonly tags?: Readonly<Record<string, string>>
  /** The W3C trace context of the task's publish. */
  readonly traceparent?: string
  readonly input?: Body
  /** The fields by which limits count the task, copied where its input is kept apart. Null where the input lacks the field. */
  readonly limitValues?: Readonly<Record<string, string | null>>
  /** The tenant that the task belongs to, where tenants take turns. */
  readonly fairnessKey?: string
  /** Set where tenants of its type take turns and the task names no tenant. All such tasks are one tenant. */
  readonly isFair?: true
  /** The slot or permit that the task waits for. */
  readonly wait?: Wait
  /** The value that an earlier task handed on. */
  readonly previous?: Previous
  /** Set where the task takes no value from an earlier task. */
  readonly immutable?: true
  /** The present stage; undefined for tasks without stages. */
  readonly stage?: string
  /** How often the task has moved on to a stage, the same one included; undefined for never. */
  readonly stageChanges?: number
  readonly flow?: FlowState
  readonly callbacks?: Callbacks
  /** Set while the task has ended and the callbacks of its end are not all published. */
  readonly owes?: true
  readonly unpublished?: Unpublished
  /** The task that published it, or the task that was running under its key when a debounced publish arrived. */
  readonly parentId?: string
  /** The end whose callback published or restarted the task last, where that callback names its own key. See `callbackRequest`. */
  readonly causedBy?: string
  readonly member?: Member
  readonly live: Readonly<Record<string, LiveRun>>
  /** All succeeded runs and the last few others, by fence. */
  readonly ended: Readonly<Record<string, EndedRun>>
  /** Number of failed and lost runs of the present piece. */
  readonly failures: number
  /** Failed and lost runs by worker, with retry scope `worker`. */
  readonly failuresBy: Readonly<Record<string, number>>
  /** The first birth of the task, once a restart has begun another one. The records of its runs begin there. */
  readonly firstBorn?: string
  /** When each worker that waits for a retry of its own may claim again. See `core/worker.ts`. */
  readonly retryAtBy: Readonly<Record<string, number>>
  readonly startedAt?: number
  readonly place?: Place
}

export function taskId(type: string, key: string): string {
  return `${taskIdPrefix(type)}${key}`
}

/** The prefix of the ids of all tasks of a type. No other type's tasks have it. */
export function taskIdPrefix(type: string): string {
  return `${type}:`
}

/** The type and the key in a task's id. A key may contain a colon, a type may not. Undefined when `id` is not a task's id. */
export function splitTaskId(id: string): { type: string; key: string } | undefined {
  const colon = id.indexOf(':')
  if (colon < 1 || colon === id.length - 1) return undefined
  return { type: id.slice(0, colon), key: id.slice(colon + 1) }
}

/** The public id of a run. It never changes, and no other run of the key has it. */
export function runId(born: string, fence: number): string {
  return `${born}.${fence}`
}

/** The birth and the fence in a run's id; undefined when `id` is not a run's id. */
export function splitRunId(id: string): { born: string; fence: number } | undefined {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})\.([1-9][0-9]{0,14})$/.exec(id)
  return match?.[1] && match[2] ? { born: match[1], fence: Number(match[2]) } : undefined
}

/** Whether only listed workers may take the task. Each of them learns of the task by a marker, never from the type's queue. */
export function isTargeted({ options }: Task): boolean {
  return options.workerIds.length > 0
}

export function liveRuns(task: Task): LiveRun[] {
  return Object.values(task.live)
}

export function endedRuns(task: Task): EndedRun[] {
  return Object.values(task.ended)
}

export function successes(task: Task): EndedRun[] {
  return endedRuns(task).filter(isSuccess)
}

/** Whether the run is a success that still counts. A success of a piece that is over no longer counts. */
export function isSuccess({ state, past }: EndedRun): boolean {
  return state === 'succeeded' && !past
}

/** How many more workers may take the task now: `concurrency` less those with a success or a live run. */
export function workersWanted(task: Task): number {
  return task.options.concurrency - successes(task).length - liveRuns(task).length
}

export type LiveRun = {
  readonly fence: number
  readonly workerId: string
  readonly startedAt: number
  readonly leaseUntil: number
  /** The length of the lease at the run's claim. Set where the task's option has changed since. */
  readonly leaseMs?: number
  /** The time at which the run times out, by the options at its claim. Changed options apply at the next claim. */
  readonly timeoutAt?: number
  readonly progress?: Json
  /** The newest log lines of its handler, if the task has the option `liveLog`. */
  readonly log?: string
  /** The permits that the run holds under concurrency limits. */
  readonly permits?: readonly Permit[]
}

export type EndedRunState = (typeof ENDED_RUN_STATES)[number]
export type RunState = 'running' | EndedRunState

/** The cause of a run's end without a report of its worker: `workerIds` excluded the worker, or a timeout or deadline passed. */
export type EndCause = 'excluded' | 'timed-out'

export type EndedRun = {
  readonly fence: number
  readonly workerId: string
  readonly state: EndedRunState
  readonly startedAt: number
  readonly endedAt: number
  readonly result?: Body
  readonly error?: TaskError
  readonly cause?: EndCause
  readonly progress?: Json
  /** The newest log lines of the handler of a failed or lost run. Only the run's own record keeps them, never a head. */
  readonly log?: string
  /** The piece of the run, where a task has several: the stage, or a step as `reserve` or `undo reserve`. */
  readonly piece?: string
  /** Set on a success of a piece that is over. Such a success no longer counts. */
  readonly past?: true
  /** A digest of its worker's report beyond the state, the result and the short error. See `run/report.ts`. */
  readonly reportDigest?: string
}

/** The record of an ended run, with the birth to which it belongs. */
export type RunRecord = EndedRun & { readonly born: string }

/** An ended run as heads keep it: with a shortened error and without its log. */
export function runInHead({ log: _log, ...run }: EndedRun): EndedRun {
  return run.error ? { ...run, error: shortError(run.error) } : run
}

/** A start that is reserved under a rate limit. */
export type Slot = {
  /** The start may not begin before this time. */
  readonly at: number
  /** The limit under which the slot was reserved, such as `50/1000`. The slot is void under a changed limit. */
  readonly rateText: string
}

/**
 * What a due task waits for while it is in the line of a limit: a slot under a rate limit, or a permit under a concurrency limit.
 * `limit` is the limit's name. The task holds no booking. The next change of the task ends the wait, unless it begins a wait itself or
 * is a heartbeat.
 */
export type Wait = { readonly kind: 'slot' | 'permit'; readonly limit: string }

/** The right to run under a concurrency limit. Each run has a `holder` of its own. */
export type Permit = { readonly limit: string; readonly holder: string }

/** The type of a limit's name; types have no `=`. */
export function typeOfLimit(name: string): string {
  return name.split('=', 1)[0] ?? name
}

/** The value of the key in a limit's name. Without a key there is none. */
export function valueOfLimit(name: string): { readonly value?: string } {
  const type = typeOfLimit(name)
  return type === name ? {} : { value: name.slice(type.length + 1) }
}

/**
 * The way in which an array input takes the value that is handed on. `append` adds the value as one more argument, `spread` adds
 * each of its members, and `prepend` puts an error's message in front.
 */
export type HandOn = 'append' | 'spread' | 'prepend'

/**
 * The value that an earlier task handed on: a body of this task, a result that the earlier task keeps apart, or the value of a part
 * of a canvas. A reader assembles the value of a part from the members' results.
 */
export type Previous = { readonly handOn: HandOn } & (
  | { readonly kind: 'body'; readonly body: Body }
  | { readonly kind: 'result'; readonly taskId: string; readonly ref: string; readonly bytes: number }
  | { readonly kind: 'node'; readonly canvasId: string; readonly born: string; readonly node: number }
)

/**
 * The input that a worker gets, with the value that was handed on. An array input takes the value of a chain as one more argument,
 * the value of a chord as several, and the message of an error in front. Any other input stays unchanged.
 */
export function effectiveInput(input: Json | undefined, previous: Json, handOn: HandOn): Json | undefined {
  if (!Array.isArray(input)) return input
  switch (handOn) {
    case 'append':
      return [...input, previous]
    case 'spread':
      return [...input, ...(Array.isArray(previous) ? previous : [previous])]
    case 'prepend':
      return [messageOf(previous), ...input]
  }
}

function messageOf(previous: Json): Json {
  const { error } = Object(previous) as { error?: { message?: Json } }
  return error?.message ?? null
}

/** Whether an operator must decide, because an undo has failed for good or an owed callback cannot be published. */
export function needsAttention({ flow, state, unpublished }: Task): boolean {
  if (unpublished) return true
  return state === 'failed' && Object.values(flow?.steps ?? {}).some(step => step.state === 'undo-failed')
}
