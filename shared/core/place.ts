import { hash32 } from './hash.ts'
import { MAX_QUEUE_DELAY_MS } from './limits.ts'
import { isTargeted, liveRuns, type Ordering, openSlots, type Place, type Task, type View } from './task.ts'

const MINUTE_MS = 60_000
/** Partitions of one minute's place: 100,000 tasks due at midnight must not go through one partition. */
export const MINUTE_SHARDS = 8
/** Wide enough for ± 10^15, so that numbers compare as text; what is beyond stands at the end. */
const ORDER_DIGITS = 16
const ORDER_OFFSET = 10 ** 15

/** The task with its view and place as they follow from the rest of it. Every transition ends here. */
export function indexed(task: Task, now: number): Task {
  const { view: _view, place: _place, ...rest } = task
  const view = viewOf(task)
  const place = placeOf(task, now)
  return { ...rest, ...(view && { view }), ...(place && { place }) }
}

function viewOf(task: Task): View | undefined {
  if (task.state === 'removed') return undefined
  return {
    bucket: task.state,
    sort: task.state === 'open' ? task.dueAt : (task.finishedAt ?? task.updatedAt),
  }
}

/**
 * - due beyond an SQS delay: its minute's place, emptied when the minute's schedule fires;
 * - claimed over HTTP, due, with a free slot, by any worker: the type's ready place (a targeted task has markers);
 * - claimed over HTTP and running: the type's running place. Tasks of handlers enter that only with a run's first
 *   heartbeat (`enteredRunning`), so that short runs pay nothing for it, and stay while they run.
 */
function placeOf(task: Task, now: number): Place | undefined {
  if (task.state !== 'open') return undefined
  const hasSlot = openSlots(task) > 0
  if (hasSlot && task.dueAt - now > MAX_QUEUE_DELAY_MS) return minutePlace(task)
  if (task.kind === 'http' && hasSlot && task.dueAt <= now && !isTargeted(task)) {
    return { name: readyPlace(task.type, task.shard), order: claimOrder(task) }
  }
  if (liveRuns(task).length === 0) return undefined
  const alreadyThere = task.place?.name === runningPlace(task.type, task.shard)
  return task.kind === 'http' || alreadyThere ? runningPlaceOf(task) : undefined
}

/** The task as it stands in its type's running place, if it runs and waits in no other. */
export function enteredRunning(task: Task): Task {
  return task.place || liveRuns(task).length === 0 ? task : { ...task, place: runningPlaceOf(task) }
}

function runningPlaceOf(task: Task): Place {
  return { name: runningPlace(task.type, task.shard), order: orderNumber(task.startedAt ?? task.updatedAt) }
}

function minutePlace(task: Task): Place {
  return {
    name: minutePlaceName(minuteOf(task.dueAt), hash32(task.id) % MINUTE_SHARDS),
    order: orderNumber(task.dueAt),
  }
}

/** The minute a time falls in, as minutes since the epoch. */
export function minuteOf(time: number): number {
  return Math.floor(time / MINUTE_MS)
}

export function minuteStart(minute: number): number {
  return minute * MINUTE_MS
}

export function minutePlaceName(minute: number, shard: number): string {
  return `minute#${minute}#${shard}`
}

/** Partition of the index for people: the tasks of a type in one bucket. */
export function viewPartition(type: string, bucket: View['bucket'], shard: number): string {
  return `${type}#${bucket}#${shard}`
}

/** Partition of the index of owners. */
export function ownerPartition(userId: string): string {
  return `user#${userId}`
}

export function readyPlace(type: string, shard: number): string {
  return `ready#${type}#${shard}`
}

export function runningPlace(type: string, shard: number): string {
  return `running#${type}#${shard}`
}

/** Position among the open tasks of a type: smaller is claimed first. Every ordering falls back on the due time. */
export function claimOrder(task: { ordering: Ordering; priority: number; dueAt: number }): string {
  switch (task.ordering) {
    case 'arrival':
      return orderNumber(task.dueAt)
    case 'priority':
      return `${orderNumber(-task.priority)}.${orderNumber(task.dueAt)}`
    case 'aged':
      return orderNumber(task.dueAt - task.priority * 1_000)
  }
}

/** The first of two tasks of a type, for sorting. */
export function byClaimOrder(a: Task, b: Task): number {
  const [first, second] = [claimOrder(a), claimOrder(b)]
  return first < second ? -1 : Number(first > second)
}

function orderNumber(value: number): string {
  const bounded = Math.min(Math.max(Math.round(value), -ORDER_OFFSET), ORDER_OFFSET)
  return String(bounded + ORDER_OFFSET).padStart(ORDER_DIGITS, '0')
}
