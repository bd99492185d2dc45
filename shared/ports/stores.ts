/**
 * Ports: what the use cases need to store. In production DynamoDB, SQS, Scheduler and EventBridge adapters implement all ports;
 * in tests memory adapters do. Contract suites hold both to the same promises. Every call may throw `BatonError('unavailable')`
 * when its service does not answer.
 */

import type { BodyWrite, Change } from '../core/change.ts'
import type { DeadLetter, LostMessage } from '../core/dead-letters.ts'
import type { ActivityCount } from '../core/events/activity.ts'
import type { FailureCount } from '../core/events/failures.ts'
import type { HeldPermits, Holder } from '../core/limits/limits.ts'
import type { Line, LineNote, StoredLineNote } from '../core/limits/line.ts'
import type { SlotLog, StoredSlotLog } from '../core/limits/slots.ts'
import type { Head } from '../core/task/head.ts'
import type { RunRecord } from '../core/task/task.ts'
import type { TaskType } from '../core/types/task-type.ts'
import type { Json } from '../core/values/values.ts'
import type { LookRecord } from '../core/wake.ts'
import type { Marker, Worker } from '../core/worker.ts'

/** The outcome of a change: written, or refused because its guard did not hold. `current` is then the stored head. */
export type Applied =
  /** `head` as it is stored. After a heartbeat it contains what other writers have changed meanwhile. */
  | { readonly applied: true; readonly head: Head }
  | { readonly applied: false; readonly current: Head | undefined }

/** Stores tasks, canvases and schedules: their heads, the bodies next to them, and their indexes. */
export type TaskStore = {
  /**
   * Reads the head under `id`, also a tombstone or an expired head. Strongly consistent.
   *
   * @throws BatonError `unreadable`, `newer-schema` for a head that this code cannot read.
   */
  head(id: string): Promise<Head | undefined>
  /**
   * Replaces an unreadable head by the tombstone of a removed task. False when the head is readable or does not exist.
   *
   * @throws BatonError `newer-schema` for a head that newer code has written.
   */
  bury(id: string, now: number): Promise<boolean>
  /**
   * Reads heads under many ids, in no order. It leaves out missing heads. It leaves out and logs heads that are unreadable or
   * that newer code has written. Eventually consistent, at half the price.
   */
  heads(ids: readonly string[]): Promise<Head[]>
  /**
   * Writes a transition: first its inputs and results, then the head, then the records of the runs that it ended. The head
   * takes one conditional write of exactly the paths that differ.
   */
  apply(change: Change): Promise<Applied>
  /**
   * Records in the head that a chain of looks at this revision continues. False when the task has changed since. False also when
   * another chain of this revision has come as far and its record holds at `now`. Repeating a record of the same name changes
   * nothing. Like a heartbeat, the record bumps no revision and the planner does not see it.
   */
  recordLook(task: Pick<Head, 'id' | 'born' | 'revision'>, record: LookRecord, now: number): Promise<boolean>
  /** Reads an input or result that is an item of its own. Undefined when it has expired. Strongly consistent. */
  body(id: string, ref: string): Promise<Json | undefined>
  /** Prolongs the life of a body. The call does nothing when the body is gone. */
  renewBody(id: string, ref: string, expiresAt: number): Promise<void>
  /** Deletes bodies and run records that no head points at, after a removal, or after a publish that found its key taken. */
  dropBodies(id: string, bodies: ReadonlyArray<Pick<BodyWrite, 'ref'>>): Promise<void>
  /** Reads the records of ended runs of this birth and of those after it, newest first. */
  runRecords(id: string, born: string, limit: number): Promise<RunRecord[]>
  /** Reads one page of an index partition, in its order. The page may be stale by seconds. */
  page(query: IndexQuery): Promise<IndexPage>
  /** Counts the entries in a range of an index partition, up to `atMost` of them. */
  count(range: IndexRange, atMost?: number): Promise<number>
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
  /** The page begins after this entry, which need not exist any more. */
  readonly after?: IndexEntry
}

export type IndexEntry = { readonly id: string; readonly sort: number | string }

export type IndexPage = { readonly entries: readonly IndexEntry[]; readonly more: boolean }

/** Stores task types. */
export type TypeStore = {
  /** Strongly consistent. */
  get(type: string): Promise<TaskType | undefined>
  list(): Promise<TaskType[]>
  /** Stores `next` if the stored version is still `version` (0: none stored). */
  put(next: TaskType, version: number): Promise<boolean>
  /**
   * Records that the type has tenants and needs a `reorder` job, if the stored version is still `version`. The call writes attributes of
   * its own, so a program without the permission to configure types may make it. `next` is the type after the write.
   */
  markFair(next: TaskType, version: number): Promise<boolean>
}

/** Names one birth of a canvas. */
export type CanvasName = { readonly canvasId: string; readonly born: string }

/** Leaves of a canvas that have succeeded (`ok`) and that have ended otherwise (`bad`), in order. */
export type CanvasEnds = { readonly ok: readonly number[]; readonly bad: readonly number[] }

/**
 * Stores which members of canvases have ended, in chunks of 200 leaves. A member always reports its first end, also after a
 * restart or a removal, so no leaf is in both lists.
 */
export type CanvasStore = {
  /**
   * Adds leaves to one chunk and returns all leaves that the chunk then has. Adding a leaf again only changes the
   * time until which the chunk is kept.
   */
  addEnds(canvas: CanvasName, chunk: number, ends: CanvasEnds, expiresAt: number): Promise<CanvasEnds>
  /** Reads the ends in each of these chunks. A chunk without ends is empty. Strongly consistent. */
  ends(canvas: CanvasName, chunks: readonly number[]): Promise<ReadonlyMap<number, CanvasEnds>>
}

/** Stores the slots and permits that the limits of types have granted, by the names of the limits. */
export type LimitStore = {
  /** Reads the slots reserved under a rate limit. Strongly consistent. */
  slots(limit: string): Promise<StoredSlotLog>
  /**
   * Replaces the slot log that was `seen`, and reports to the stream how many slots were given back. Undefined when the log was replaced;
   * otherwise the stored log.
   */
  putSlots(
    limit: string,
    log: SlotLog,
    seen: StoredSlotLog,
    write: { readonly expiresAt: number; readonly returned?: number },
  ): Promise<StoredSlotLog | undefined>
  /**
   * Records a permit holder in its shard (`shardOf`) if fewer than `max` hold a permit of that shard. Undefined when recorded, also
   * by an earlier call; otherwise the present holders of the shard.
   */
  acquire(limit: string, holder: Holder, max: number): Promise<HeldPermits | undefined>
  /**
   * Removes a permit holder and returns the holders that are left in its shard. With `since`, it removes only a holder that was
   * recorded at that time. Without `since`, the table's stream reports the freed permit to the planner.
   */
  release(limit: string, holder: string, since?: number): Promise<HeldPermits>
  /** Records `now` as the time of a holder. False when the holder is not recorded any more. */
  renew(limit: string, holder: string, now: number): Promise<boolean>
  /** Reads the permit holders in these shards of a limit. Each shard is read strongly consistent. */
  permits(limit: string, shards: readonly number[]): Promise<HeldPermits>
  /** Reads the note of a line. Strongly consistent. */
  line(line: Line): Promise<StoredLineNote>
  /**
   * Replaces the note that was `seen`. Undefined when it was replaced; otherwise the stored note. With `isNoted`, the table's stream
   * reports to the planner that tasks wait.
   */
  putLine(
    line: Line,
    note: LineNote,
    seen: StoredLineNote,
    report?: { readonly isNoted: boolean },
  ): Promise<StoredLineNote | undefined>
  /** Removes the note that was `seen`. */
  endLine(line: Line, seen: StoredLineNote): Promise<void>
  /** Up to `most` lines whose next look should have come some 15 s before this time, or earlier. Eventually consistent. */
  overdueLines(before: number, most: number): Promise<Line[]>
}

/** The last turn reserved for a tenant in a line, and the front at which it joined the line. */
export type TenantTurns = { readonly last: number; readonly joined: number }

/** Stores the turns of tenants. A `name` names a line and a tenant, a `line` names a line. */
export type TurnStore = {
  /** Reads the turns of a tenant. Undefined when none were reserved, or when their record has expired. Eventually consistent. */
  of(name: string): Promise<TenantTurns | undefined>
  /** Reserves `count` turns after the last stored one, and returns the turns as they are then stored. */
  advance(name: string, count: number, expiresAt: number): Promise<TenantTurns>
  /**
   * Reserves `count` turns from `front` on, for a tenant whose last turn lies before `front`, or that joined beyond `far`.
   * Undefined when the turns were reserved; otherwise the stored turns.
   */
  join(name: string, from: JoinedFrom, expiresAt: number): Promise<TenantTurns | undefined>
  /** Reads the front of a line as claimers have noted it. Eventually consistent. */
  front(line: string): Promise<number | undefined>
  /** Notes the front of a line, unless a later one is noted. */
  noteFront(line: string, turn: number, expiresAt: number): Promise<void>
}

/** How a tenant joins a line. A tenant that joined beyond the turn `far` may join again. */
export type JoinedFrom = { readonly front: number; readonly count: number; readonly far: number }

/** Stores how often runs and tasks of a type failed, by hour and masked error. */
export type FailureStore = {
  /** Adds to the count of an hour. A repeated call counts again. */
  add(count: FailureCount): Promise<void>
  /** Reads at most `most` counts of a type from an hour on, newest hour first. Eventually consistent. */
  since(type: string, hour: number, most: number): Promise<FailureCount[]>
}

/** Stores how many tasks of a type were published, started and ended, by minute. */
export type ActivityStore = {
  /** Adds to the counts of a minute. A repeated call counts again. */
  add(count: ActivityCount): Promise<void>
  /** Reads the counts of a type from a minute on, oldest first: at most the counts of some two hours. Eventually consistent. */
  since(type: string, minute: number): Promise<ActivityCount[]>
}

/** Stores dead letters with their bodies, and the notes that they leave about tasks. Expired ones count as gone. */
export type DeadLetterStore = {
  /** Stores a letter with its whole body. A repeated call replaces what is stored. */
  put(letter: DeadLetter, body: string): Promise<void>
  /** Reads a letter with its whole body. Strongly consistent. */
  get(id: string): Promise<{ readonly letter: DeadLetter; readonly body: string } | undefined>
  /**
   * Reads one page of letters, of one queue or of all: by queue, and within a queue the newest first. The page begins after `after`,
   * which need not exist any more. Eventually consistent.
   */
  page(query: {
    readonly queue?: string
    readonly after?: string
    readonly limit: number
  }): Promise<{ readonly letters: readonly DeadLetter[]; readonly next?: string }>
  /** Removes a letter with its body, and its note if a later letter has not replaced it. */
  remove(letter: DeadLetter): Promise<void>
  /** Notes about a task that its message was given up, in place of an earlier note. */
  note(lost: LostMessage): Promise<void>
  /** Reads the note about a task. Eventually consistent, for half a unit. */
  noteOf(taskId: string): Promise<LostMessage | undefined>
}

/** Stores small records of the machinery: cursors, progress, answers that a repeated request gets again. `record-names.ts` names them. */
export type RecordStore = {
  get(name: string): Promise<Json | undefined>
  put(name: string, value: Json, expiresAt: number): Promise<void>
  /** Puts the record if there is none; otherwise returns the stored value. */
  putNew(name: string, value: Json, expiresAt: number): Promise<Json | undefined>
  /** Replaces the record if its stored value is still `seen`. Returns whether it was replaced. */
  replace(name: string, value: Json, seen: Json, expiresAt: number): Promise<boolean>
}

/** Stores the markers of targeted tasks, by worker. Each worker reads its own. A marker may be stale. */
export type Targets = {
  /** Writes a marker, in place of one that is there already. */
  mark(marker: Marker): Promise<void>
  /** Reads one page of a worker's markers by task id, without expired ones. Strongly consistent. */
  of(workerId: string, query: MarkerQuery): Promise<MarkerPage>
  /** Reads which of these markers exist, in no order. Eventually consistent, at half the price. */
  among(markers: readonly Marker[]): Promise<Marker[]>
  /** Deletes a marker, unless it was replaced since it was read by one for another birth or revision. */
  clear(marker: Marker): Promise<void>
}

export type MarkerQuery = {
  /** Restricts the page to tasks of this type. */
  readonly type?: string
  /** The page begins after the marker of this task, which need not exist any more. */
  readonly after?: string
  readonly limit: number
}

/** One page of markers. `next` is the task after which the next page begins; absent on the last page. */
export type MarkerPage = { readonly markers: readonly Marker[]; readonly next?: string }

/** Registers the workers that send signs of life: standalone workers, and workers that claim over HTTP. */
export type WorkerStore = {
  /**
   * Records a sign of life. The last announcement replaces the stored worker. Of two live standalone workers with one id, the one that
   * started first replaces nothing.
   */
  announce(worker: Worker): Promise<void>
  /** Removes this worker, and keeps it among those that are gone. A worker of the same id that started at another time stays. */
  leave(worker: Worker): Promise<void>
  /** Reads the worker under this id, if it was seen within the last 30 s. Strongly consistent. */
  get(workerId: string): Promise<Worker | undefined>
  /** Lists the workers that were seen within the last 30 s, by id. Strongly consistent. */
  list(): Promise<Worker[]>
  /** Lists all workers that were seen within the last day, whether they are present or gone, in no order. */
  listAll(): Promise<Worker[]>
  /**
   * Removes at most `limit` workers that were last seen before `since`, and returns their ids. A worker seen meanwhile stays. A removed
   * worker is kept among those that are gone.
   */
  dropSilent(since: number, limit: number): Promise<string[]>
}
