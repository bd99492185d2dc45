/**
 * Where a head stands in the indexes of the table. It has at most one entry in each of three: the view, in which people list
 * tasks; the place, where machinery finds a task without a message; and the owner. All three follow from the head alone, so
 * each transition computes them anew.
 *
 * `place-names.ts` names the partitions, and `claim-order.ts` says in which order the tasks of one place are claimed.
 */

import { QUEUE_DELAY_MS_MAX } from '../bounds.ts'
import { fairLineOf, presentTurn, tenantOf, turnAt, turnOrder } from '../fair/fair.ts'
import { hash32 } from '../hash.ts'
import { orderNumber } from '../order-number.ts'
import { isTakenInOrder, workOf } from '../task/piece.ts'
import { isTargeted, liveRuns, openSlots, type Place, type Task, type View } from '../task/task.ts'
import { workOrder } from './claim-order.ts'
import {
  isLimitPlace,
  limitPlace,
  MINUTE_SHARDS,
  minutePlaceName,
  ownerPartition,
  readyPlace,
  runningPlace,
  undoingPlace,
  viewPartition,
} from './place-names.ts'

const MINUTE_MS = 60_000

/** The task with its view and place as they follow from the rest of it. Every transition ends here. */
export function indexed(task: Task, now: number): Task {
  const { view: _view, place: _place, ...rest } = task
  const view = viewOf(task)
  const place = placeOf(task, now)
  return { ...rest, ...(view && { view }), ...(place && { place }) }
}

function viewOf(task: Task): View | undefined {
  if (task.state === 'removed') return undefined
  // What has ended and owes callbacks stays where the sweeper looks.
  if (task.schedule?.paused && task.state === 'open') return { bucket: 'open', sort: NEVER }
  if (task.state === 'open' || task.owes) return { bucket: openBucket(task), sort: task.dueAt }
  return { bucket: task.state, sort: task.finishedAt ?? task.updatedAt }
}

/** Where those stand among the open ones that are due at no time: behind all others. Source: the last time of a `Date`. */
const NEVER = 8.64e15

function openBucket({ flow }: Task): 'open' | 'compensating' {
  return flow?.direction === 'undo' ? 'compensating' : 'open'
}

/**
 * - to be woken beyond an SQS delay: its minute's place, emptied when the minute's schedule fires;
 * - due, but a concurrency limit is used up: the limit's place, unless it is taken
 *   in order and the limit is for all beside it;
 * - taken in order, due, with a free slot, by any worker: the type's ready place (a targeted task has markers);
 * - claimed over HTTP and running: the type's running place, or of a flow that undoes its undoing place. Tasks of handlers
 *   enter that only with a run's first heartbeat (`enteredRunning`), so that short runs pay nothing for it, and stay while
 *   they run.
 */
function placeOf(task: Task, now: number): Place | undefined {
  if (task.state !== 'open' || task.schedule?.paused) return undefined
  const hasSlot = openSlots(task) > 0
  if (hasSlot && isFar(task, now)) return minutePlace(task)
  const limit = limitStoodBy(task)
  if (limit !== undefined) return { name: limitPlace(limit), order: waitingOrder(task, now) }
  if (hasSlot && isReady(task, now)) {
    return { name: readyPlaceOf(task), order: waitingOrder(task, now) }
  }
  if (liveRuns(task).length === 0) return undefined
  const running = runningPlaceOf(task)
  const { kind } = workOf(task)
  return kind === 'http' || task.place?.name === running.name ? running : undefined
}

/**
 * Position of a task that waits to be claimed. A tenant's task keeps the turn that it has; one without a turn stands at the
 * present time until the shell has reserved a turn for it (`runtime/fair`).
 */
function waitingOrder(task: Task, now: number): string {
  if (tenantOf(task) === undefined) return workOrder(task)
  const line = fairLineOf(task)
  const held = isWaiting(task) ? turnAt(line, task.place?.order ?? '') : undefined
  return turnOrder(line, held ?? presentTurn(now))
}

/** Whether its place is one where tasks wait to be claimed: its ready place, or that of a limit. */
function isWaiting(task: Task): boolean {
  return task.place !== undefined && (task.place.name === readyPlaceOf(task) || isLimitPlace(task.place.name))
}

/**
 * The limit in whose place a task waits for a permit. Where one limit is for all that are taken in order beside it, it stays
 * among them, in the turn of its tenant, and whoever is let in takes the best of them.
 */
function limitStoodBy(task: Task): string | undefined {
  if (task.wait?.kind !== 'permit') return undefined
  const { limit } = task.wait
  const isForAll = limit === workOf(task).type && isTakenInOrder(task) && !isTargeted(task)
  return isForAll ? undefined : limit
}

/** The task as it stands in its type's running place, if it runs and waits in no other. */
export function inRunningPlace(task: Task): Task {
  return task.place || liveRuns(task).length === 0 ? task : { ...task, place: runningPlaceOf(task) }
}

/** Undoing has a place of its own, so that what compensates is not counted as running, too. */
function runningPlaceOf(task: Task): Place {
  const { type, shard, flow, startedAt, updatedAt } = task
  const name = flow?.direction === 'undo' ? undoingPlace(type, shard) : runningPlace(type, shard)
  return { name, order: orderNumber(startedAt ?? updatedAt) }
}

/** When the task can be claimed at the earliest: when it is due, and when its slot under a rate limit comes. */
export function startsAt({ dueAt, wait }: Task): number {
  return wait?.kind === 'slot' ? Math.max(dueAt, wait.at) : dueAt
}

/** When the task must be woken at the latest: when it can be claimed, or when its deadline ends it before. */
export function wakesAt(task: Task): number {
  return Math.min(startsAt(task), task.deadlineAt ?? Number.POSITIVE_INFINITY)
}

/**
 * Whether the task waits for its minute: longer than a queue can delay a message. A task that is due and taken in order stays
 * ready while it waits for a far slot, since the slot of a lesser task may be spent on it.
 */
export function isFar(task: Task, now: number): boolean {
  return wakesAt(task) - now > QUEUE_DELAY_MS_MAX && !isReady(task, now)
}

/** Whether the task may stand among those that workers take in order. */
export function isReady(task: Task, now: number): boolean {
  return isTakenInOrder(task) && task.dueAt <= now && !isTargeted(task)
}

function minutePlace(task: Task): Place {
  const at = wakesAt(task)
  return {
    name: minutePlaceName(minuteOf(at), hash32(task.id) % MINUTE_SHARDS),
    order: orderNumber(at),
  }
}

/** The minute a time falls in, as minutes since the epoch. */
export function minuteOf(time: number): number {
  return Math.floor(time / MINUTE_MS)
}

export function minuteStart(minute: number): number {
  return minute * MINUTE_MS
}

/** Where the task stands when it can be claimed in order. */
export function readyPlaceOf(task: Task): string {
  const { type, shard } = workOf(task)
  return readyPlace(type, shard)
}

/** Position of a task among those that the same type serves. */
export function orderOf(task: Task): string {
  return task.place !== undefined && isWaiting(task) ? task.place.order : workOrder(task)
}

/** The first of two tasks that the same type serves, for sorting. */
export function byClaimOrder(a: Task, b: Task): number {
  const [first, second] = [orderOf(a), orderOf(b)]
  return first < second ? -1 : Number(first > second)
}

/** Where an entry stands in an index: its partition, and its position there. */
type IndexKey = { readonly partition: string; readonly sort: number | string }

export type IndexKeys = { readonly [index in 'view' | 'place' | 'owner']?: IndexKey }

/** The entries of a task in the indexes, as they follow from the task. Every store keeps exactly these. */
export function indexKeys({ type, shard, view, place, userId, createdAt }: Task): IndexKeys {
  return {
    ...(view && { view: { partition: viewPartition(type, view.bucket, shard), sort: view.sort } }),
    ...(place && { place: { partition: place.name, sort: place.order } }),
    ...(userId !== undefined && { owner: { partition: ownerPartition(userId), sort: createdAt } }),
  }
}
