import { compareTexts } from '../values/values.ts'
/**
 * The entries of a head in the indexes of the table. A head has at most one entry in each of three indexes:
 *
 * - `view`   callers list tasks from it
 * - `place`  workers, the waker and the sweeper find a task in it without a message
 * - `owner`  callers list the tasks of a user from it
 *
 * All entries follow from the head alone, so each transition computes all of them. The end of this file names the partitions, and
 * `claim-order.ts` gives the order in which the tasks of one place are claimed.
 */

import { QUEUE_DELAY_MS_MAX } from '../bounds.ts'
import { type Head, isTask } from '../task/head.ts'
import type { HeadFields, Place, Schedule, View } from '../task/head-fields.ts'
import { isSamePiece, isTakenInOrder, workOf } from '../task/piece.ts'
import { isTargeted, liveRuns, type Task, typeOfLimit, type Wait, workersWanted } from '../task/task.ts'
import { hash32, orderNumber } from '../values/text.ts'
import { defined } from '../values/values.ts'
import type { FairLine } from './claim-order.ts'
import { fairLineOf, presentTurn, tenantOf, turnAt, turnOrder, workOrder } from './claim-order.ts'
import { haltedPlaceOf } from './halted.ts'

const MINUTE_MS = 60_000

/** The head with its entries in `view` and `place`, newly computed. Every transition except a heartbeat ends here. */
export function withIndexEntries<H extends Head>(head: H, now: number): H {
  const { view: _view, place: _place, ...rest }: HeadFields & { readonly place?: Place } = head
  return defined({ ...rest, view: viewOf(head), place: placeOf(head, now) }) as unknown as H
}

function viewOf(head: Head): View | undefined {
  const { state, dueAt, finishedAt, updatedAt } = head
  if (state === 'removed') return undefined
  if (isPaused(head)) return { bucket: 'open', sort: NEVER }
  // The sweeper reads the open buckets, so an ended head that owes callbacks or cancellations stays there.
  const isOwing = head.kind !== 'schedule' && head.owes
  if (state === 'open' || isOwing) {
    return { bucket: openBucket(head), sort: isTask(head) ? sweptFrom(head) : dueAt }
  }
  return { bucket: state, sort: finishedAt ?? updatedAt }
}

/**
 * The time from which the sweeper reads a task, by which open tasks are listed: the due time, unless the task needs something
 * earlier. That may be its deadline, the end of a live run, or, after its end, the publishing of its callbacks. A claim and a
 * heartbeat leave this time as it is, because only a due task can start, so they move no index entry. The exception is a claim after
 * which all other listed workers wait for their own retries.
 */
export function sweptFrom(task: Task): number {
  const { dueAt, deadlineAt = dueAt, finishedAt = dueAt } = task
  const starts = liveRuns(task).map(({ startedAt }) => startedAt)
  return Math.min(dueAt, deadlineAt, task.state === 'open' ? dueAt : finishedAt, ...starts)
}

function isPaused(head: Head): boolean {
  return head.kind === 'schedule' && head.state === 'open' && head.schedule.paused
}

/** The position of an open head that is never due, behind all others. Source: the last time of a `Date`. */
const NEVER = 8.64e15

function openBucket(head: Head): 'open' | 'compensating' {
  return isTask(head) && head.flow?.direction === 'undo' ? 'compensating' : 'open'
}

/** A canvas has no place: messages alone lead to it, and the sweeper finds it in its view. */
function placeOf(head: Head, now: number): Place | undefined {
  switch (head.kind) {
    case 'canvas':
      return undefined
    case 'schedule':
      return placeOfSchedule(head, now)
    default:
      return placeOfTask(head, now)
  }
}

/** A schedule whose next tick is further ahead than a queue can delay is in the place of the tick's minute. */
function placeOfSchedule(schedule: Schedule, now: number): Place | undefined {
  const { id, state, dueAt } = schedule
  const isFarOff = state === 'open' && !isPaused(schedule) && dueAt - now > QUEUE_DELAY_MS_MAX
  return isFarOff ? minutePlace(id, dueAt) : undefined
}

/**
 * The place of a task:
 *
 * - A task that must be woken later than a queue can delay is in the place of its minute. The waker empties that place when the
 *   EventBridge schedule of the minute fires.
 * - A task that waits for a limit is in the place of that limit.
 * - A task that workers take in order, that is due, and that any worker may claim is in the ready place of its type. A targeted
 *   task has markers instead.
 * - A running task that was claimed over HTTP is in the running place of its type. A flow that undoes is in the undoing place.
 * - A task that a handler runs enters the running place only with the first heartbeat of a run (`inRunningPlace`), so short runs
 *   pay nothing for it.
 * - An ended task for which an operator must decide is in the place of halted tasks. Only operators read it.
 */
function placeOfTask(task: Task, now: number): Place | undefined {
  if (task.state !== 'open') return haltedPlaceOf(task)
  const takesWorkers = workersWanted(task) > 0
  if (takesWorkers && isFar(task, now)) return minutePlace(task.id, wakesAt(task))
  if (task.wait)
    return { name: limitPlace(task.wait, shardIn(task, task.wait)), order: waitingOrder(task, now) }
  if (takesWorkers && isReady(task, now)) {
    return { name: readyPlaceOf(task), order: waitingOrder(task, now) }
  }
  if (liveRuns(task).length === 0) return undefined
  const running = runningPlaceOf(task)
  const { kind } = workOf(task)
  return kind === 'http' || task.place?.name === running.name ? running : undefined
}

/**
 * The position of a task that waits to be claimed. A tenant's task keeps its turn. A task without a turn is placed as if its turn
 * came now, until `runtime/place` has reserved one.
 */
function waitingOrder(task: Task, now: number): string {
  if (tenantOf(task) === undefined) return workOrder(task)
  const line = fairLineOf(task)
  const ownTurn = isWaiting(task) ? turnAt(line, task.place?.order ?? '') : undefined
  return turnOrder(line, ownTurn ?? presentTurn(now))
}

/** Whether the task is in a place where tasks wait to be claimed: its ready place, or the place of a limit. */
function isWaiting(task: Task): boolean {
  return task.place !== undefined && (task.place.name === readyPlaceOf(task) || isLimitPlace(task.place.name))
}

/** The partition of a line in which the task waits: the shard of the type whose limit it is. */
function shardIn(task: Task, { limit }: Wait): number {
  return typeOfLimit(limit) === task.type ? task.shard : workOf(task).shard
}

/** The task, moved to its type's running place if it runs and is in no other place. */
export function inRunningPlace(task: Task): Task {
  return task.place || liveRuns(task).length === 0 ? task : { ...task, place: runningPlaceOf(task) }
}

/** The running place of the task. A flow that undoes has a place of its own, so that it is not also counted as running. */
function runningPlaceOf(task: Task): Place {
  const { type, shard, flow, startedAt, updatedAt } = task
  const name = flow?.direction === 'undo' ? undoingPlace(type, shard) : runningPlace(type, shard)
  return { name, order: orderNumber(startedAt ?? updatedAt) }
}

/** The time at which the task must be woken: its due time, or its deadline if that is earlier. */
export function wakesAt({ dueAt, deadlineAt = Number.POSITIVE_INFINITY }: Task): number {
  return Math.min(dueAt, deadlineAt)
}

/** Whether the task waits in the place of its minute, because no SQS delay reaches its time (15 minutes). */
export function isFar(task: Task, now: number): boolean {
  return wakesAt(task) - now > QUEUE_DELAY_MS_MAX && !isReady(task, now)
}

/** Whether the task may be in the ready place of the type of its present piece. Workers take tasks from there in order. */
function isReady(task: Task, now: number): boolean {
  return isTakenInOrder(task) && task.dueAt <= now && !isTargeted(task)
}

function minutePlace(id: string, at: number): Place {
  return { name: minutePlaceName(minuteOf(at), hash32(id) % MINUTE_SHARDS), order: orderNumber(at) }
}

/** The minute that contains a time, as minutes since the epoch. */
export function minuteOf(time: number): number {
  return Math.floor(time / MINUTE_MS)
}

export function minuteStart(minute: number): number {
  return minute * MINUTE_MS
}

/** The ready place of the type of the task's present piece. */
export function readyPlaceOf(task: Task): string {
  const { type, shard } = workOf(task)
  return readyPlace(type, shard)
}

/** The position of a task among all tasks whose present pieces have the same type. */
export function orderOf(task: Task): string {
  return task.place !== undefined && isWaiting(task) ? task.place.order : workOrder(task)
}

/** Sorts tasks whose present pieces have the same type: the task that is claimed first comes first. */
export function byClaimOrder(a: Task, b: Task): number {
  return compareTexts(orderOf(a), orderOf(b))
}

/** The key of an entry in an index: its partition, and its position there. */
type IndexKey<Sort> = { readonly partition: string; readonly sort: Sort }

type IndexKeys = {
  readonly view?: IndexKey<number>
  readonly place?: IndexKey<string>
  readonly owner?: IndexKey<number>
}

type Indexed = HeadFields & { readonly place?: Place; readonly userId?: string }

/** The keys of a head's entries in the indexes. Every store keeps exactly these entries. */
export function indexKeys({ type, shard, view, place, userId, createdAt }: Indexed): IndexKeys {
  return {
    ...(view && { view: { partition: viewPartition(type, view.bucket, shard), sort: view.sort } }),
    ...(place && { place: { partition: place.name, sort: place.order } }),
    ...(userId !== undefined && { owner: { partition: ownerPartition(userId), sort: createdAt } }),
  }
}

/** A tenant's task enters the ready place of its type, and so needs a turn in the line. */
export type LineEntry = {
  readonly line: FairLine
  readonly tenant: string
  /** The turn that the task kept while it was in the place of a limit. Undefined: the task needs a new turn. */
  readonly keptTurn?: number
}

/** The entry of a changed task into its line. Undefined when the task enters no line, or is in it already and keeps its turn. */
export function lineEntry(before: Task | undefined, after: Task): LineEntry | undefined {
  const tenant = tenantOf(after)
  const { place } = after
  if (tenant === undefined || place === undefined || place.name !== readyPlaceOf(after)) return undefined
  const mayKeepTurn = before !== undefined && isSamePiece(before, after) && tenantOf(before) === tenant
  const former = mayKeepTurn ? before.place : undefined
  if (former?.name === place.name && former.order === place.order) return undefined
  const line = fairLineOf(after)
  const keptTurn = former && isLimitPlace(former.name) ? turnAt(line, former.order) : undefined
  return { line, tenant, ...(keptTurn !== undefined && { keptTurn }) }
}

/** The task with this turn of the line as its position in the ready place. */
export function movedToTurn(task: Task, line: FairLine, turn: number): Task {
  return task.place ? { ...task, place: { ...task.place, order: turnOrder(line, turn) } } : task
}

/** Partitions of one minute's place. One partition could not serve 100,000 tasks that are due at midnight. */
export const MINUTE_SHARDS = 8

export function minutePlaceName(minute: number, shard: number): string {
  return `minute#${minute}#${shard}`
}

/** The partition of the index `view` that holds the tasks of a type in one bucket. */
export function viewPartition(type: string, bucket: View['bucket'], shard: number): string {
  return `${type}#${bucket}#${shard}`
}

/** The bucket of a partition of the index `view`. */
export function bucketOfView(partition: string): View['bucket'] {
  return partition.split('#')[1] as View['bucket']
}

/** The partition of the index `owner` that holds one user's tasks. */
export function ownerPartition(userId: string): string {
  return OWNER_PREFIX + userId
}

/** The user whose tasks a partition of the index `owner` holds. */
export function userOfOwner(partition: string): string {
  return partition.slice(OWNER_PREFIX.length)
}

const OWNER_PREFIX = 'user#'

export function readyPlace(type: string, shard: number): string {
  return `ready#${type}#${shard}`
}

const LIMIT_PREFIX = 'limit#'

/** One partition of a line: of the tasks that wait for slots, or for permits, of a limit. */
export function limitPlace({ kind, limit }: Wait, shard: number): string {
  return `${LIMIT_PREFIX}${limit}#${kind}#${shard}`
}

function isLimitPlace(name: string): boolean {
  return name.startsWith(LIMIT_PREFIX)
}

const RUNNING_PREFIX = 'running#'
const UNDOING_PREFIX = 'undoing#'

/** Whether the place holds running tasks, or flows that undo their steps. */
export function isRunningPlace({ name }: Place): boolean {
  return name.startsWith(RUNNING_PREFIX) || name.startsWith(UNDOING_PREFIX)
}

export function runningPlace(type: string, shard: number): string {
  return `${RUNNING_PREFIX}${type}#${shard}`
}

export function undoingPlace(type: string, shard: number): string {
  return `${UNDOING_PREFIX}${type}#${shard}`
}
