/**
 * The words of Baton, and the value that they describe.
 *
 * What is stored
 * - task      one piece of work of a type, named by `type` and `key`; its id is `type:key`
 * - head      the item of a task: everything about it but large bodies and the records of failed runs
 * - birth     one incarnation of a key, named by a ULID (`born`); nothing of an earlier birth can change a later one
 * - revision  a number that grows with every change except heartbeats; a write names the revision that it was decided on
 * - write id  a random id that a write stores, so that its repetition recognises that it was applied
 * - place     the partition of the index `place` in which a task stands; a task has at most one
 *
 * How a task runs
 * - dispatch  a queue message that names a task to claim
 * - ticket    a dispatch of a type that is run in order: its receiver claims the best task of the type
 * - pass on   return a refused dispatch to its queue for another worker
 * - claim     the conditional write by which a worker takes a task
 * - run       one worker's hold on one task, from the claim to the run's end
 * - lease     the time until which no other worker may take over a run; each heartbeat extends it
 * - fence     a number that grows with every claim of a task; every later write of the run carries it
 * - look      a delayed message that makes the waker read a task again; a wake is the next time a task needs one
 * - piece     what one claim is for: the whole task, one of its stages, or the `do` or `undo` of a flow's step
 * - target    a worker that a task names in `workerIds`; a marker, an item of its own, tells the worker about the task
 *
 * What makes a task wait
 * - limit     a rule of a type about its runs: a rate limit or a concurrency limit (bounds are constants of the system)
 * - slot      a start that is reserved for a task under a rate limit
 * - permit    the right to run under a concurrency limit; its holder is recorded until it gives the permit back
 * - admit     end the wait of a task for a permit
 * - tenant    all tasks of a type with one fairness key
 * - turn      the position of a tenant's task among the tasks of all tenants; see `fair/fair.ts`
 *
 * What publishes tasks
 * - schedule  a name under which a task is published again and again; each time is a tick
 * - canvas    a chain, group or chord of tasks; its tasks are its leaves, numbered, and each is a member of it
 * - flow      a task that runs steps one by one and undoes them in reverse order after a failure
 * - callback  a task that is published at the end of another; the ended task owes it until then
 *
 * Times are milliseconds since the epoch. Values never change in place: a transition returns a new task.
 */

import type { FieldProblem } from '../errors.ts'
import type { Json } from '../json.ts'
import type { Options } from '../options/options.ts'
import type { ENDED_RUN_STATES, ORDERINGS, TYPE_KINDS } from '../states.ts'
import type { CanvasState, Member } from './canvas-state.ts'
import type { FlowState } from './flow-state.ts'
import type { Previous } from './previous.ts'
import type { ScheduleState } from './schedule-state.ts'
import type { Permit, Wait } from './wait.ts'

/** The stored state of a task. The status that callers see is derived from it and from the time (see `status/status.ts`). */
export type TaskState = 'open' | 'succeeded' | 'failed' | 'cancelled' | 'removed'

/** What serves the tasks of a type. The types of its steps serve a flow. */
export type TypeKind = (typeof TYPE_KINDS)[number]
/** Canvases and schedules have heads as tasks have, which no worker can claim. */
export type TaskKind = TypeKind | 'canvas' | 'schedule'

/** The order in which the open tasks of a type are run. */
export type Ordering = (typeof ORDERINGS)[number]

/**
 * An input or a result. A small body is in the head; a large one is an item of its own, found by `ref` and kept until `expiresAt`.
 */
export type Body =
  | { readonly inline: Json }
  | { readonly ref: string; readonly bytes: number; readonly expiresAt: number }

/** Why a task or a run failed. `causes` lists the causes of the error, the nearest first. */
export type TaskError = {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly causes?: readonly ErrorCause[]
}

export type ErrorCause = { readonly name: string; readonly message: string }

export type LiveRun = {
  readonly fence: number
  readonly workerId: string
  readonly startedAt: number
  readonly leaseUntil: number
  /** The length of its lease, where the task's option has changed since the claim. */
  readonly leaseMs?: number
  /** The run's time limit according to the options at its claim. Changed options apply at the next claim. */
  readonly timeoutAt?: number
  readonly progress?: Json
  /** The permits that it holds under concurrency limits. */
  readonly permits?: readonly Permit[]
}

export type EndedRunState = (typeof ENDED_RUN_STATES)[number]
export type RunState = 'running' | EndedRunState

/** Why a run ended without a report of its worker. */
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
  /** The newest log lines of a failed run's handler. Only the run's own record keeps them, never a head. */
  readonly log?: string
  /** The piece it worked on, where a task has several: the stage, or a step as `reserve` or `undo reserve`. */
  readonly piece?: string
  /** Set on a success of a piece that is over. Such a success counts no more. */
  readonly past?: true
  /** A digest of its worker's report beyond the state, the result and the short error. See `run/report.ts`. */
  readonly reportDigest?: string
}

/** The callbacks that a task's end publishes. The numbers say at the end whether any callback is owed, without reading the body. */
export type Callbacks = { readonly body: Body; readonly onSuccess: number; readonly onError: number }

/** Callbacks that the task owes and that cannot be published as types are now. */
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

/** The last operation on a task. It is stored in the head and tells the planner the reason of a change. */
export type Operation =
  | 'publish'
  | 'update'
  | 'claim'
  | 'beat'
  | 'succeed'
  | 'fail'
  | 'lose'
  | 'release'
  | 'expire'
  | 'surface'
  | 'throttle'
  | 'block'
  | 'patch'
  | 'cancel'
  | 'remove'
  | 'restart'
  | 'resume'
  | 'settle'
  | 'owe'
  | 'tick'

/** A change that was asked for over the HTTP API: its time, its principal, and its name. */
export type OperationRecord = { readonly at: number; readonly by: string; readonly what: string }

/** The entry of the task in the index `view`, from which lists are read: open tasks by due time, ended ones by their end. */
export type View = {
  readonly bucket: 'open' | 'compensating' | 'succeeded' | 'failed' | 'cancelled'
  readonly sort: number
}

/**
 * The entry of the task in the index `place`: the partition, and the position there, which compares as text. A task has at most
 * one.
 */
export type Place = { readonly name: string; readonly order: string }

export type Task = {
  readonly id: string
  readonly type: string
  readonly key: string
  readonly kind: TaskKind
  readonly ordering: Ordering
  readonly born: string
  readonly revision: number
  readonly operation: Operation
  readonly state: TaskState
  readonly dueAt: number
  /** Set while `dueAt` is the time of a retry. */
  readonly retrying: boolean
  readonly deadlineAt?: number
  readonly priority: number
  readonly userId?: string
  readonly tags?: Readonly<Record<string, string>>
  /** W3C trace context the task was published under. */
  readonly traceparent?: string
  /** The options of the present piece. */
  readonly options: Options
  readonly input?: Body
  /** Copies of the fields by which limits count the task, where its input is kept apart. Null where the input lacks the field. */
  readonly limitValues?: Readonly<Record<string, string | null>>
  /** The tenant that the task belongs to, where tenants take turns. */
  readonly fairnessKey?: string
  /** Set where tenants of its type take turns and the task names no tenant. All such tasks are one tenant. */
  readonly isFair?: true
  /** The slot or permit that the task waits for. */
  readonly wait?: Wait
  /** The value that the task before it handed on. */
  readonly previous?: Previous
  /** Set where the task takes no value from the task before it. */
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
  /** The task that published it, or the task that was running under its key when a debounced publish came. */
  readonly parentId?: string
  readonly member?: Member
  readonly canvas?: CanvasState
  readonly schedule?: ScheduleState
  /** The last changes asked for over the HTTP API. */
  readonly operations?: readonly OperationRecord[]
  /** The fence of the last claim. */
  readonly fence: number
  readonly live: Readonly<Record<string, LiveRun>>
  /** All succeeded runs and the last few others, by fence. */
  readonly ended: Readonly<Record<string, EndedRun>>
  /** Number of failed and lost runs of the present piece. */
  readonly failures: number
  /** Failed and lost runs by worker, with retry scope `worker`. */
  readonly failuresBy: Readonly<Record<string, number>>
  readonly error?: TaskError
  readonly createdAt: number
  readonly updatedAt: number
  readonly startedAt?: number
  readonly finishedAt?: number
  readonly expiresAt?: number
  /** Number of its partition in its type's indexes. */
  readonly shard: number
  readonly view?: View
  readonly place?: Place
}

export function taskId(type: string, key: string): string {
  return `${taskIdPrefix(type)}${key}`
}

/** The prefix of the ids of all tasks of a type. No other type's tasks have it. */
export function taskIdPrefix(type: string): string {
  return `${type}:`
}

/** Type and key of a task's id. A key may contain a colon, a type may not. Undefined when `id` is not the id of a task. */
export function splitTaskId(id: string): { type: string; key: string } | undefined {
  const colon = id.indexOf(':')
  if (colon < 1 || colon === id.length - 1) return undefined
  return { type: id.slice(0, colon), key: id.slice(colon + 1) }
}

/** The public id of a run. It never changes, and no other run of the key has it. */
export function runId(born: string, fence: number): string {
  return `${born}.${fence}`
}

/** Birth and fence of a run's id; undefined when `id` is not the id of a run. */
export function splitRunId(id: string): { born: string; fence: number } | undefined {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})\.([1-9][0-9]{0,14})$/.exec(id)
  return match?.[1] && match[2] ? { born: match[1], fence: Number(match[2]) } : undefined
}

/** Whether only listed workers may take the task. A marker of its own tells each of them, never the type's queue. */
export function isTargeted({ options }: Task): boolean {
  return options.workerIds.length > 0
}

export function liveRuns(task: Task): LiveRun[] {
  return Object.values(task.live)
}

export function endedRuns(task: Task): EndedRun[] {
  return Object.values(task.ended)
}

/** The successes of the present piece. */
export function successes(task: Task): EndedRun[] {
  return endedRuns(task).filter(run => run.state === 'succeeded' && !run.past)
}

/** How many more workers may take the task now: those of `concurrency` without a success or a live run. */
export function openSlots(task: Task): number {
  return task.options.concurrency - successes(task).length - liveRuns(task).length
}
