/** Ports: what is sent, and how it is received. As with the stores, calls may throw `BatonError('unavailable')`. */

import type { BatonEvent } from '../core/events/event-types.ts'
import type { Json } from '../core/json.ts'
import type { LimitLook } from '../core/limits/held-permits.ts'
import type { Task } from '../core/task/task.ts'
import type { JobLook } from '../core/types/type-job.ts'
import type { IndexEntry } from './stores.ts'

/**
 * A message that tells a type's workers that a task can be claimed; it carries the head it was computed from.
 * `delaySeconds` is a whole number from 0 to 900.
 */
export type Dispatch = {
  readonly task: Task
  readonly delaySeconds: number
  /** How often workers have passed it on because there was nothing they could take; 0 when left out. */
  readonly passedOn?: number
  /**
   * How often functions have sent it on since the planner, the waker or the sweeper sent one; 0 when left out. Lambda stops a
   * chain of messages that has no table in it.
   */
  readonly hops?: number
}

/** How a message carries a task: in a form that has a version, so that code of another version never misreads it. */
export type TaskCodec = {
  encode(task: Task): Json
  /** @throws BatonError `newer-schema` for a form of newer code, `invalid` for what is none, `unavailable`. */
  decode(form: unknown): Promise<Task>
}

/**
 * A message that makes the waker look at a task, planned on one of its revisions. `hops` counts how often it was armed
 * anew. `delaySeconds` is a whole number from 0 to 900.
 */
export type Look = {
  readonly id: string
  readonly born: string
  readonly revision: number
  readonly hops: number
  /** The look is for a far slot: when a queue can delay that long, the task is dispatched. */
  readonly slot?: true
  readonly delaySeconds: number
}

/** A message that makes the waker dispatch all tasks of a far minute, from `after` on. */
export type MinuteLook = { readonly minute: number; readonly shard: number; readonly after?: IndexEntry }

/**
 * A message that makes the jobs function see to a canvas: publish what may be published, count who has ended, cancel its members
 * when it was cancelled; from the leaf `from` on. `delaySeconds` is a whole number from 0 to 900.
 */
export type CanvasLook = {
  readonly id: string
  readonly born: string
  readonly from: number
  readonly delaySeconds: number
}

/** What a message of the wake queue or the jobs queue asks for. A `minute` without a shard comes from its schedule and means all of them. */
export type Wake =
  | { readonly kind: 'look'; readonly look: Look }
  | { readonly kind: 'minute'; readonly minute: number }
  | { readonly kind: 'minute-shard'; readonly look: MinuteLook }
  | { readonly kind: 'canvas'; readonly look: CanvasLook }
  | { readonly kind: 'job'; readonly look: JobLook }
  | { readonly kind: 'limit'; readonly look: LimitLook }

/**
 * What could not be sent, by its position in the batch, with the reason. Trying again helps only if it is `transient`:
 * an outage, not a message that is refused for what it is.
 */
export type SendFailure = { readonly index: number; readonly reason: string; readonly transient: boolean }

export type Messages = {
  /** Sends to the queues of the tasks' types. A queue that does not exist (no handler deployed) is no failure. */
  dispatch(dispatches: readonly Dispatch[]): Promise<SendFailure[]>
  look(looks: readonly Look[]): Promise<SendFailure[]>
  lookAtMinute(look: MinuteLook): Promise<void>
  /** Goes to the jobs queue: a canvas may take seconds. */
  lookAtCanvases(looks: readonly CanvasLook[]): Promise<SendFailure[]>
  /** Goes to the jobs queue: a job may take minutes. */
  continueJobs(looks: readonly JobLook[]): Promise<SendFailure[]>
  lookAtLimits(looks: readonly LimitLook[]): Promise<SendFailure[]>
  /** Messages that wait visibly in the queue of a type that has a handler; undefined when there is no such queue. */
  backlog(servingType: string): Promise<number | undefined>
  /** Messages that wait visibly in the jobs queue. */
  waitingJobs(): Promise<number>
}

/** Where events are told to those who asked for them. */
export type Events = {
  /**
   * Tells events, those about one task in their order. Each may be told twice. Never throws: what could not be told is
   * the answer.
   */
  publish(events: readonly BatonEvent[]): Promise<SendFailure[]>
}

/**
 * Up to 10 events that could not be told, to be told later. `hops` counts how often that was tried; `delaySeconds` is a
 * whole number from 0 to 900.
 */
export type LateEvents = {
  readonly events: readonly BatonEvent[]
  readonly hops: number
  readonly delaySeconds: number
}

/** Keeps events until they can be told. */
export type LateEventQueue = {
  put(late: readonly LateEvents[]): Promise<SendFailure[]>
}

/** One dispatch that was taken from its type's queue. It comes again unless it is done with within half a minute. */
export type Delivery = {
  readonly task: Task
  /** How often workers that may not take the task have passed this dispatch on. */
  readonly passedOn: number
  /** Takes it off the queue. */
  done(): Promise<void>
  /** Puts it back, to be delivered again after so many seconds (a whole number, 0 to 900), to any worker. */
  putBack(delaySeconds: number, passedOn?: number): Promise<void>
}

/** The other end of `Messages.dispatch`, for workers that fetch their dispatches themselves. */
export type Inbox = {
  /**
   * Up to `max` (1 to 10) deliveries from the queue of the type, as soon as there are any; none after `waitMs`, or when
   * `signal` aborts. Dispatches that cannot be read are dropped, and a queue that does not exist is empty.
   */
  receive(
    type: string,
    limits: { readonly max: number; readonly waitMs: number },
    signal?: AbortSignal,
  ): Promise<Delivery[]>
}

/** Timers beyond what a queue can delay. */
export type FarTimers = {
  /** Makes sure that one schedule for this minute exists. Repeating it is harmless. */
  ensureMinute(minute: number): Promise<void>
}
