/**
 * What the use cases need of the world, as types. DynamoDB, SQS and Scheduler adapters stand behind them in
 * production, memory ones in tests; contract suites hold both to the same promises.
 * Every call may throw `BatonError('unavailable')` when its service does not answer.
 */
import type { BodyWrite, Change } from './core/change.ts'
import type { Json } from './core/json.ts'
import type { EndedRun, Task, View } from './core/task.ts'
import type { TaskType } from './core/task-type.ts'
import type { TypeJob } from './core/type-job.ts'
import type { Marker, Worker } from './core/worker.ts'

/** Milliseconds since the epoch, and waiting. */
export type Clock = {
  now(): number
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Everything random. */
export type Chance = {
  /** A new ULID whose time part is `now`. */
  ulid(now: number): string
  /** At least 0, less than 1. */
  fraction(): number
}

/** What became of a change: written, or not because its guard did not hold; then the item that stood there. */
export type Applied =
  /** `task` as it stands; after a heartbeat that is what others have changed meanwhile, too. */
  | { readonly applied: true; readonly task: Task }
  | { readonly applied: false; readonly current: Task | undefined }

/** Tasks: heads, the bodies beside them, and their indexes. */
export type TaskStore = {
  /** The head under `id`, tombstones and expired ones included. Strongly consistent. */
  head(id: string): Promise<Task | undefined>
  /** Heads under many ids, missing ones and those of newer code left out, in no order. Eventually consistent: at half the price. */
  heads(ids: readonly string[]): Promise<Task[]>
  /**
   * Writes a transition: its inputs and results, then the head in one conditional write of exactly the paths that
   * differ, then the records of runs that it ended.
   */
  apply(change: Change): Promise<Applied>
  /** An input or result kept apart; undefined when it has expired. Strongly consistent. */
  body(id: string, ref: string): Promise<Json | undefined>
  /** Prolongs the life of a body; nothing happens when it is gone. */
  renewBody(id: string, ref: string, expiresAt: number): Promise<void>
  /** Deletes bodies and run records that no head points at: of a publish that found its key taken, of a removed task. */
  dropBodies(id: string, bodies: ReadonlyArray<Pick<BodyWrite, 'ref'>>): Promise<void>
  /** Records of ended runs of one birth, newest first. */
  runRecords(id: string, born: string, limit: number): Promise<EndedRun[]>
  /** One page of one partition of an index, in its order. Stale by up to seconds. */
  page(query: IndexQuery): Promise<IndexPage>
  /** How many entries a range of an index partition has. */
  count(range: IndexRange): Promise<number>
}

export type IndexRange = {
  readonly index: 'view' | 'place' | 'owner'
  readonly partition: string
  /** Bounds of the sort key, both inclusive. */
  readonly from?: number | string
  readonly to?: number | string
}

export type IndexQuery = IndexRange & {
  readonly limit: number
  readonly descending?: boolean
  /** Continue after this entry (it need not exist any more). */
  readonly after?: IndexEntry
}

export type IndexEntry = { readonly id: string; readonly sort: number | string }

export type IndexPage = { readonly entries: readonly IndexEntry[]; readonly more: boolean }

/** Task types. */
export type TypeStore = {
  /** Strongly consistent. */
  get(type: string): Promise<TaskType | undefined>
  list(): Promise<TaskType[]>
  /** Stores `next` if the stored version is still `version` (0: none stored). */
  put(next: TaskType, version: number): Promise<boolean>
}

/** One birth of a canvas: its key and its birth. */
export type CanvasName = { readonly canvasId: string; readonly born: string }

/** Leaves of a canvas that have succeeded, and that have not; in order. */
export type CanvasEnds = { readonly ok: readonly number[]; readonly bad: readonly number[] }

/**
 * Which members of canvases have ended, in chunks of 200 leaves. A member reports its first end for ever (it keeps it
 * when it is started over or removed), so that no leaf comes into both lists.
 */
export type CanvasStore = {
  /**
   * Adds leaves of one chunk; answers all that the chunk then has. Adding what is there changes nothing but how long the
   * chunk is kept.
   */
  addEnds(canvas: CanvasName, chunk: number, ends: CanvasEnds, expiresAt: number): Promise<CanvasEnds>
  /** The ends in each of these chunks; empty where nothing was ever added. Strongly consistent. */
  ends(canvas: CanvasName, chunks: readonly number[]): Promise<ReadonlyMap<number, CanvasEnds>>
}

/** Small records of the machinery itself: cursors, answers to be repeated. */
export type RecordStore = {
  get(name: string): Promise<Json | undefined>
  put(name: string, value: Json, expiresAt: number): Promise<void>
  /** Puts the record if none is there; else returns what is. */
  putNew(name: string, value: Json, expiresAt: number): Promise<Json | undefined>
}

/** Markers of targeted tasks, by the worker they are for. A worker reads its own; they may be stale. */
export type Targets = {
  /** Writes a marker, or writes it again. */
  mark(marker: Marker): Promise<void>
  /** One page of a worker's markers by task id; expired ones are left out. Strongly consistent. */
  of(workerId: string, query: MarkerQuery): Promise<MarkerPage>
  /** Which of these markers are there, as they stand, in no order. Eventually consistent: at half the price. */
  among(markers: readonly Marker[]): Promise<Marker[]>
  /** Deletes a marker, unless it has been written again for another revision since it was read. */
  clear(marker: Marker): Promise<void>
}

export type MarkerQuery = {
  /** Only those of tasks of this type. */
  readonly type?: string
  /** Continue after the marker of this task (it need not exist any more). */
  readonly after?: string
  readonly limit: number
}

/** `next`, when there are more: after which task they follow. */
export type MarkerPage = { readonly markers: readonly Marker[]; readonly next?: string }

/** The registry of workers that show signs of life by themselves: standalone ones, and those that claim over HTTP. */
export type WorkerStore = {
  /** A sign of life, with what there is to know: the last word holds, but for one that `yieldsTo` who is there. */
  announce(worker: Worker): Promise<void>
  /** Takes this very worker out; one of the same id that started at another time stays. */
  leave(worker: Pick<Worker, 'workerId' | 'startedAt'>): Promise<void>
  /** The one under this id, if it was seen within the last 30 s. Strongly consistent. */
  get(workerId: string): Promise<Worker | undefined>
  /** Those that were seen within the last 30 s, by id. Strongly consistent. */
  list(): Promise<Worker[]>
}

/**
 * A message that tells a type's workers that a task can be claimed; it carries the head it was computed from.
 * `delaySeconds` is a whole number from 0 to 900.
 */
export type Dispatch = { readonly task: Task; readonly delaySeconds: number }

/**
 * A message that makes the waker look at a task, planned on one of its revisions. `hops` counts how often it was armed
 * anew. `delaySeconds` is a whole number from 0 to 900.
 */
export type Look = {
  readonly id: string
  readonly born: string
  readonly revision: number
  readonly hops: number
  readonly delaySeconds: number
}

/** A message that makes the waker dispatch all tasks of a far minute, from `after` on. */
export type MinuteLook = { readonly minute: number; readonly shard: number; readonly after?: IndexEntry }

/**
 * A message that makes the waker see to a canvas: publish what may be published, count who has ended, cancel its members
 * when it was cancelled; from the leaf `from` on. `delaySeconds` is a whole number from 0 to 900.
 */
export type CanvasLook = {
  readonly id: string
  readonly born: string
  readonly from: number
  readonly delaySeconds: number
}

/**
 * A message that makes the waker go on with a job on the tasks in one partition of their type's view, from `after` on.
 * `delaySeconds` is a whole number from 0 to 900.
 */
export type JobLook = {
  readonly type: string
  readonly job: TypeJob
  readonly bucket: View['bucket']
  readonly shard: number
  readonly after?: IndexEntry
  readonly delaySeconds: number
}

/** What a wake message asks for. A `minute` without a shard comes from its schedule and means all of them. */
export type Wake =
  | { readonly kind: 'look'; readonly look: Look }
  | { readonly kind: 'minute'; readonly minute: number }
  | { readonly kind: 'minute-shard'; readonly look: MinuteLook }
  | { readonly kind: 'canvas'; readonly look: CanvasLook }
  | { readonly kind: 'job'; readonly look: JobLook }

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
  lookAtCanvases(looks: readonly CanvasLook[]): Promise<SendFailure[]>
  goOnWithJobs(looks: readonly JobLook[]): Promise<SendFailure[]>
  /** Messages that wait visibly in the queue of a type that has a handler; undefined when there is no such queue. */
  backlog(servingType: string): Promise<number | undefined>
}

/** One dispatch that was taken from its type's queue. It comes again unless it is done with within half a minute. */
export type Delivery = {
  readonly task: Task
  /** How often workers that may not take the task have passed this dispatch on. */
  readonly passedOn: number
  /** Takes it off the queue. */
  done(): Promise<void>
  /** Puts it back, to be delivered again after so many seconds (a whole number, 0 to 900), to any worker. */
  again(delaySeconds: number, passedOn?: number): Promise<void>
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

/** Structured log lines; `fields` carry ids. */
export type Log = {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

export type LogFields = Readonly<Record<string, unknown>>

/** Counts and durations that alarms and dashboards read. */
export type MetricName =
  | 'Lateness'
  | 'ClaimConflict'
  | 'LeaseLost'
  | 'LookLoop'
  | 'SweeperRepaired'
  | 'Stuck'
  | 'NeedsAttention'
  | 'RunTime'

export type Metrics = {
  /** `Lateness` and `RunTime` in milliseconds, the rest counts. */
  add(name: MetricName, value: number, type: string): void
}
