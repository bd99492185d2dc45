/**
 * What the use cases need of the world, as types: here what keeps things. DynamoDB, SQS, Scheduler and EventBridge adapters
 * stand behind all ports in production, memory ones in tests; contract suites hold both to the same promises.
 * Every call may throw `BatonError('unavailable')` when its service does not answer.
 */

import type { Change } from '../core/change/change.ts'
import type { Json } from '../core/json.ts'
import type { HeldPermits, Holder } from '../core/limits/held-permits.ts'
import type { SlotLog, StoredSlots } from '../core/limits/slots.ts'
import type { LookRecord } from '../core/plan/look-chain.ts'
import type { BodyWrite } from '../core/task/body.ts'
import type { EndedRun, Task } from '../core/task/task.ts'
import type { TaskType } from '../core/types/task-type.ts'
import type { Marker, Worker } from '../core/worker/worker.ts'

/** What became of a change: written, or not because its guard did not hold; then the item that stood there. */
export type Applied =
  /** `task` as it stands; after a heartbeat that is what others have changed meanwhile, too. */
  | { readonly applied: true; readonly task: Task }
  | { readonly applied: false; readonly current: Task | undefined }

/** Tasks: heads, the bodies beside them, and their indexes. */
export type TaskStore = {
  /**
   * The head under `id`, tombstones and expired ones included. Strongly consistent.
   *
   * @throws BatonError `unreadable`, `newer-schema` for a head that this code cannot read.
   */
  head(id: string): Promise<Task | undefined>
  /**
   * Puts the tombstone of a removed task in the place of a head that cannot be read. False when it can be read, is that of
   * newer code, or is not there.
   */
  bury(id: string, now: number): Promise<boolean>
  /** Heads under many ids, in no order; left out, and logged, are those that are missing, cannot be read, or are of newer code. Eventually consistent: at half the price. */
  heads(ids: readonly string[]): Promise<Task[]>
  /**
   * Writes a transition: its inputs and results, then the head in one conditional write of exactly the paths that
   * differ, then the records of runs that it ended.
   */
  apply(change: Change): Promise<Applied>
  /**
   * Records in the head that a chain of looks at this revision goes on. False when the task has changed since, or when another
   * chain of this revision has come as far and its record holds at `now`. Repeating a record of the same name changes
   * nothing. As a heartbeat, it bumps no revision and the planner does not see it.
   */
  recordLook(task: Task, record: LookRecord, now: number): Promise<boolean>
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
  /**
   * Notes that the type has tenants and what that leaves to be done, if the stored version is still `version`. It writes
   * attributes of its own, so that a program may do it that may not configure types. `next` is the type as it then is.
   */
  markFair(next: TaskType, version: number): Promise<boolean>
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

/** What the limits of types have granted, by the names of the limits. */
export type LimitStore = {
  /** Strongly consistent. */
  slots(limit: string): Promise<StoredSlots>
  /** Puts a log in the place of this very one; undefined when it did, else what is stored. */
  putSlots(
    limit: string,
    log: SlotLog,
    seen: StoredSlots,
    expiresAt: number,
  ): Promise<StoredSlots | undefined>
  /** Counts so many more starts after the log of this version; answers how many that makes, undefined if it is another. */
  countSlots(limit: string, version: number, count: number, expiresAt: number): Promise<number | undefined>
  /** Records a holder if fewer than `max` are recorded; undefined when it did, else what is. May be repeated. */
  acquire(limit: string, holder: Holder, max: number): Promise<HeldPermits | undefined>
  /**
   * Takes a holder out, if it is there, and where `since` is given recorded then; answers what is recorded after that. Without
   * `since`, the table's stream tells the planner that a permit was freed, if tasks are noted to wait.
   */
  release(limit: string, holder: string, since?: number): Promise<HeldPermits>
  /** Records anew since when a holder is; false when it is not recorded any more. */
  renew(limit: string, holder: string, now: number): Promise<boolean>
  /** Strongly consistent. */
  permits(limit: string): Promise<HeldPermits>
  /**
   * Notes that a task waits; undefined when it did, else what is recorded: fewer than `max` hold a permit, so that no task
   * need wait, or a note later than `staleAt`. The table's stream tells the planner of the note.
   */
  noteWaiting(
    limit: string,
    now: number,
    most: { readonly max: number; readonly staleAt: number },
  ): Promise<HeldPermits | undefined>
  /** Notes it again, whether or not a permit is left; false when the note is not the one that was seen. */
  renewWaiting(limit: string, now: number, seen: number | undefined): Promise<boolean>
  /** Nobody waits any more, unless that was noted again since. */
  clearWaiting(limit: string, since: number): Promise<void>
}

/** The last turn reserved for a tenant in a line, and the front at which it joined the line. */
export type TenantTurns = { readonly last: number; readonly joined: number }

/** Turns of tenants. `name` names a line and a tenant, `line` a line. */
export type TurnStore = {
  /** Undefined: none were reserved, or long ago. Eventually consistent. */
  of(name: string): Promise<TenantTurns | undefined>
  /** Reserves `count` turns after the last one, whichever that is; answers what is stored after that. */
  advance(name: string, count: number, expiresAt: number): Promise<TenantTurns>
  /**
   * Reserves `count` turns from `front` on, for a tenant whose last turn lies before it, or that joined beyond `far`. Undefined
   * when it did, else what is stored.
   */
  join(name: string, from: JoinedFrom, expiresAt: number): Promise<TenantTurns | undefined>
  /** The front of a line as claimers have noted it. Eventually consistent. */
  front(line: string): Promise<number | undefined>
  /** Notes the front of a line, unless a later one is noted. */
  noteFront(line: string, turn: number, expiresAt: number): Promise<void>
}

export type JoinedFrom = { readonly front: number; readonly count: number; readonly far: number }

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
  /** Takes out, at most `limit` of them, who was not seen since; answers their ids. Who shows a sign of life meanwhile stays. */
  dropSilent(since: number, limit: number): Promise<string[]>
}
