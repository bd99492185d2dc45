/**
 * Ports that send and receive messages. A call that returns `SendFailure`s reports an outage in them. Every other call throws
 * when its service does not answer.
 */

import type { LetterQueue, LetterSubject, ReplayQueue } from '../core/dead-letters.ts'
import type { BatonEvent } from '../core/events/events.ts'
import type { FreedPermit } from '../core/limits/limits.ts'
import type { LimitLook } from '../core/limits/line.ts'
import type { Task } from '../core/task/task.ts'
import type { JobLook } from '../core/types/task-type.ts'
import type { Json } from '../core/values/values.ts'
import type { IndexEntry } from './stores.ts'

/**
 * A message that announces to a type's workers that a task can be claimed. It carries the head from which it was computed.
 * `delaySeconds` is a whole number from 0 to 900.
 */
export type Dispatch = {
  readonly task: Task
  readonly delaySeconds: number
  /** How often workers have passed it on: returned it to its queue for another worker. 0 when left out. */
  readonly passedOn?: number
  /**
   * How often functions have sent it again since the planner, the waker or the sweeper sent it. 0 when left out. Lambda stops a
   * long chain of messages that no write to the table interrupts.
   */
  readonly hops?: number
  /** The permit whose release admitted the task. Its receiver looks for a free permit there first. */
  readonly freed?: FreedPermit
}

/** Encodes a task for a message, and decodes it. The form has a version, so code of another version never misreads it. */
export type TaskCodec = {
  encode(task: Task): Json
  /**
   * @throws BatonError `newer-schema` for a form of newer code, `invalid` for another value that is not a form, and
   * `unavailable`.
   */
  decode(form: unknown): Promise<Task>
}

/**
 * A message that makes the waker look at a task. It was planned on one revision of the task. `hops` counts how many
 * looks came before it in its chain. `delaySeconds` is a whole number from 0 to 900.
 */
export type Look = {
  readonly id: string
  readonly born: string
  readonly revision: number
  readonly hops: number
  readonly delaySeconds: number
}

/**
 * A message that makes the waker dispatch all tasks in one shard of a far minute, from `after` on. A far minute holds the tasks
 * that fall due in one minute and were further ahead than an SQS delay reaches (15 minutes).
 */
export type MinuteLook = { readonly minute: number; readonly shard: number; readonly after?: IndexEntry }

/**
 * A message that makes the jobs function advance a canvas, from the leaf `from` on. The function publishes members that may start, counts
 * members that have ended, and cancels the members of a cancelled canvas. `delaySeconds` is a whole number from 0 to 900.
 */
export type CanvasLook = {
  readonly id: string
  readonly born: string
  readonly from: number
  readonly delaySeconds: number
}

/**
 * What a message of the wake queue or the jobs queue asks for. A `minute` comes from its EventBridge schedule and stands for all shards.
 */
export type Wake =
  | { readonly kind: 'look'; readonly look: Look }
  | { readonly kind: 'minute'; readonly minute: number }
  | { readonly kind: 'minute-shard'; readonly look: MinuteLook }
  | { readonly kind: 'canvas'; readonly look: CanvasLook }
  | { readonly kind: 'job'; readonly look: JobLook }
  | { readonly kind: 'limit'; readonly look: LimitLook }

/**
 * A message that was not sent, by its position in the batch, with the reason. `transient` means an outage, so another try may help.
 * Otherwise the service refuses the message itself.
 */
export type SendFailure = { readonly index: number; readonly reason: string; readonly transient: boolean }

/** Sends messages in batches. An empty list makes no request. */
export type Messages = {
  /** Sends to the queues of the tasks' types. A missing queue is not a failure: the type has no deployed handler. */
  dispatch(dispatches: readonly Dispatch[]): Promise<SendFailure[]>
  look(looks: readonly Look[]): Promise<SendFailure[]>
  lookAtMinute(look: MinuteLook): Promise<void>
  /** Sends to the jobs queue, because a canvas may take seconds. */
  lookAtCanvases(looks: readonly CanvasLook[]): Promise<SendFailure[]>
  /** Sends to the jobs queue, because a job may take minutes. */
  continueJobs(looks: readonly JobLook[]): Promise<SendFailure[]>
  lookAtLimits(looks: readonly LimitLook[]): Promise<SendFailure[]>
  /** The number of visible messages in the queue of a type that has a handler. Undefined when there is no such queue. */
  backlog(servingType: string): Promise<number | undefined>
  /** The number of visible messages in the jobs queue. */
  waitingJobs(): Promise<number>
}

/** A message as it arrived in the dead-letter queue. It stays there until it is removed. */
export type ArrivedLetter = {
  readonly messageId: string
  readonly queue: LetterQueue
  readonly subject: LetterSubject
  readonly body: string
  /** When it was sent first, in ms. */
  readonly sentAt: number
  /** How often its queue delivered it; 0 when a service sent it to the dead-letter queue itself. */
  readonly receives: number
  readonly error?: string
}

/** Sends the bodies of dead letters again. A missing queue is a failure that is not transient. */
export type Resender = {
  sendAgain(
    letters: ReadonlyArray<{ readonly queue: ReplayQueue; readonly body: string }>,
  ): Promise<SendFailure[]>
}

/** The queue of all messages that were given up. */
export type DeadLetterQueue = {
  /** Receives up to 10 messages that are there now. */
  receive(): Promise<ArrivedLetter[]>
  /** Removes received messages. One that is not removed arrives again after its visibility timeout. */
  remove(letters: readonly ArrivedLetter[]): Promise<void>
}

/** Publishes events to their subscribers. */
export type Events = {
  /**
   * Publishes events; events about one task keep their order. An event may be published twice. The call never throws: it
   * returns the events that were not published.
   */
  publish(events: readonly BatonEvent[]): Promise<SendFailure[]>
}

/**
 * Up to 10 events that could not be published and will be tried again. `hops` counts the tries. `delaySeconds` is a whole
 * number from 0 to 900.
 */
export type LateEvents = {
  readonly events: readonly BatonEvent[]
  readonly hops: number
  readonly delaySeconds: number
}

/** Keeps events until they can be published. */
export type LateEventQueue = {
  put(late: readonly LateEvents[]): Promise<SendFailure[]>
}

/**
 * One dispatch that a worker or a function received from its type's queue. The queue delivers it again unless it is removed
 * within the visibility timeout, which is `WORKER_VISIBILITY_S` (15 s) for a worker.
 */
export type Delivery = {
  readonly task: Task
  /** How often workers that may not take the task have returned this dispatch to the queue. */
  readonly passedOn: number
  /** How often functions have sent it on. Workers need not know. */
  readonly hops?: number
  /** The permit whose release admitted the task. */
  readonly freed?: FreedPermit
  /** Removes it from the queue. */
  done(): Promise<void>
  /** Puts it back. Any worker may receive it after `delaySeconds` (a whole number from 0 to 900). */
  putBack(delaySeconds: number, passedOn?: number): Promise<void>
}

/** The other end of `Messages.dispatch`, for workers that fetch their dispatches themselves. */
export type Inbox = {
  /**
   * Receives up to `max` (1 to 10) deliveries from the queue of the type, as soon as there are any. It answers none after
   * `waitMs`, or when `signal` aborts. Unreadable dispatches are dropped. A missing queue counts as empty.
   */
  receive(
    type: string,
    limits: { readonly max: number; readonly waitMs: number },
    signal?: AbortSignal,
  ): Promise<Delivery[]>
}

/** Timers for tasks that are due further ahead than an SQS delay reaches (15 minutes). */
export type FarTimers = {
  /** Makes sure that one EventBridge schedule for this minute exists. Repeating the call is harmless. */
  ensureMinute(minute: number): Promise<void>
}
