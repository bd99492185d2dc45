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

/** What is stored about a task's end. Everything people see beyond it is derived (see `status/status.ts`). */
export type TaskState = 'open' | 'succeeded' | 'failed' | 'cancelled' | 'removed'

/** Who works on the tasks of a type; those of a flow are worked on by the types of its steps. */
export type TypeKind = (typeof TYPE_KINDS)[number]
/** The heads of canvases and of schedules are kept as a task's is, and nobody can claim them. */
export type TaskKind = TypeKind | 'canvas' | 'schedule'

/** In which order the open tasks of a type are run. */
export type Ordering = (typeof ORDERINGS)[number]

/** Input or result: in the head when small, else an item of its own, found by `ref` and kept until `expiresAt`. */
export type Body =
  | { readonly inline: Json }
  | { readonly ref: string; readonly bytes: number; readonly expiresAt: number }

/** Why something failed. `causes`: what the error was caused by, the nearest first. */
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
  /** How long its lease is, where the task's option has been changed since its claim. */
  readonly leaseMs?: number
  /** The run's own limit, as its claim found it: options that change later apply at the next claim. */
  readonly timeoutAt?: number
  readonly progress?: Json
  /** What it holds of concurrency limits. */
  readonly permits?: readonly Permit[]
}

export type EndedRunState = (typeof ENDED_RUN_STATES)[number]
export type RunState = 'running' | EndedRunState

/** Why a run ended other than by its worker's word. */
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
  /** Of a failed run: the last that its handler logged. It stands in the run's record only, never in a head. */
  readonly log?: string
  /** Which piece it worked on, where a task has several: the stage, or a step as `reserve` or `undo reserve`. */
  readonly piece?: string
  /** A success of a piece that is over; it counts no more. */
  readonly past?: true
  /** A digest of what its worker's word said beyond the state, the result and the short error; see `run/word.ts`. */
  readonly reportDigest?: string
}

/** What is published when a task ends, and how much of it, so that its end knows whether anything is owed. */
export type Callbacks = { readonly body: Body; readonly onSuccess: number; readonly onError: number }

/** Callbacks that the task owes and that cannot be published as long as types are as they are. */
export type Unpublished = {
  /** Which of those for its end, from 0 on; the others have been published. */
  readonly indices: readonly number[]
  /** Why not, the first few, each by its path: `onSuccess.0.deadlineMs`. */
  readonly problems: readonly FieldProblem[]
  /** A type that was changed later may have made them possible. */
  readonly judgedAt: number
  /** The revision of the end that owes them, from which their keys follow. */
  readonly revision: number
}

/** The last operation on a task, stored with it: what the stream's reader sees as the reason of a change. */
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

/** A change that was asked for over the HTTP API: when, by which principal, and what it was. */
export type OperationRecord = { readonly at: number; readonly by: string; readonly what: string }

/** Where the task stands in the index for people: open tasks by due time, ended ones by their end. */
export type View = {
  readonly bucket: 'open' | 'compensating' | 'succeeded' | 'failed' | 'cancelled'
  readonly sort: number
}

/** Where the task waits for machinery, and its position there (compares as text). At most one. */
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
  /** Of the present piece. */
  readonly options: Options
  readonly input?: Body
  /** Of an input kept apart, the fields by which limits of its type count it; null where it has none. */
  readonly limitValues?: Readonly<Record<string, string | null>>
  /** Whose task it is where tenants take turns. */
  readonly fairnessKey?: string
  /** Tenants of its type take turns, and it names none: all such tasks are one tenant. */
  readonly isFair?: true
  /** What a limit makes it wait for. */
  readonly wait?: Wait
  /** What the task before it handed on. */
  readonly previous?: Previous
  /** Takes nothing that a task before it would hand on. */
  readonly immutable?: true
  /** The stage it is in; undefined for tasks without stages. */
  readonly stage?: string
  /** How often it has moved on to another stage, or to the same one again; undefined for never. */
  readonly stageChanges?: number
  readonly flow?: FlowState
  readonly callbacks?: Callbacks
  /** It has ended, and what follows from that has not been published yet. */
  readonly owes?: true
  readonly unpublished?: Unpublished
  /** The task that published it, or that ran under its debounced key. */
  readonly parentId?: string
  readonly member?: Member
  readonly canvas?: CanvasState
  readonly schedule?: ScheduleState
  /** The last changes asked for over the HTTP API. */
  readonly operations?: readonly OperationRecord[]
  /** The last fence handed out. */
  readonly fence: number
  readonly live: Readonly<Record<string, LiveRun>>
  /** All succeeded runs and the last few others, by fence. */
  readonly ended: Readonly<Record<string, EndedRun>>
  /** Failed and lost runs, in all and (retry scope `worker`) by worker. */
  readonly failures: number
  readonly failuresBy: Readonly<Record<string, number>>
  readonly error?: TaskError
  readonly createdAt: number
  readonly updatedAt: number
  readonly startedAt?: number
  readonly finishedAt?: number
  readonly expiresAt?: number
  /** Which partition of its type's indexes it is in. */
  readonly shard: number
  readonly view?: View
  readonly place?: Place
}

export function taskId(type: string, key: string): string {
  return `${taskIdPrefix(type)}${key}`
}

/** How the ids of all tasks of a type begin, and of no other type. */
export function taskIdPrefix(type: string): string {
  return `${type}:`
}

/** Type and key of an id. A type has no colon; a key may. Undefined when `id` is none. */
export function splitTaskId(id: string): { type: string; key: string } | undefined {
  const colon = id.indexOf(':')
  if (colon < 1 || colon === id.length - 1) return undefined
  return { type: id.slice(0, colon), key: id.slice(colon + 1) }
}

/** A run's public id: stable, and unlike that of any other run of the key. */
export function runId(born: string, fence: number): string {
  return `${born}.${fence}`
}

/** Birth and fence of a run's id; undefined when `id` is none. */
export function splitRunId(id: string): { born: string; fence: number } | undefined {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})\.([1-9][0-9]{0,14})$/.exec(id)
  return match?.[1] && match[2] ? { born: match[1], fence: Number(match[2]) } : undefined
}

/** Whether only listed workers may take the task. Each is told by a marker of its own, never by the type's queue. */
export function isTargeted({ options }: Task): boolean {
  return options.workerIds.length > 0
}

export function liveRuns(task: Task): LiveRun[] {
  return Object.values(task.live)
}

export function endedRuns(task: Task): EndedRun[] {
  return Object.values(task.ended)
}

/** Of the present piece. */
export function successes(task: Task): EndedRun[] {
  return endedRuns(task).filter(run => run.state === 'succeeded' && !run.past)
}

/** Slots that neither a success nor a live run holds. */
export function openSlots(task: Task): number {
  return task.options.concurrency - successes(task).length - liveRuns(task).length
}
