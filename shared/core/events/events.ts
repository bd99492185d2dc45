/**
 * The events of a change, derived from the item as the change left it; the stream does not show the item before. The id of an event
 * follows from what happened, so a stream that is read again yields the same events.
 *
 * Not every change of a task yields an event. A task that falls due without a write becomes ready without an event. A patch yields
 * `task.ready` only if it ends the task's runs or sets the due time to now, also when the task was ready before. A publish that
 * updates a task (`ifExists: update`) yields it whenever the task is ready afterwards. `EVENT_TYPES` lists the types of events.
 */

import { isComplete, isIndexedAsRunning } from '../run/finish.ts'
import type { EventType } from '../states.ts'
import { statusOf } from '../status.ts'
import type { ActionRecord } from '../task/flow-state.ts'
import type { Head } from '../task/head.ts'
import type { Canvas, Operation } from '../task/head-fields.ts'
import { RUN_MOVES, type Status } from '../task/lifecycle.ts'
import { type EndedRun, endedRuns, liveRuns, needsAttention, runId, type Task } from '../task/task.ts'
import type { ErrorCause, TaskError } from '../task-error/task-error.ts'
import { hash32 } from '../values/text.ts'

type EventByOperation = Partial<Record<Operation, EventType>>

const OF_CANVAS: EventByOperation = {
  publish: 'canvas.published',
  succeed: 'canvas.succeeded',
  fail: 'canvas.failed',
  cancel: 'canvas.cancelled',
}

const OF_SCHEDULE: EventByOperation = { tick: 'schedule.ticked' }

/** The events of one change of a head, in the order in which they happened. */
export function eventsOf(head: Head): BatonEvent[] {
  switch (head.kind) {
    case 'canvas':
      return otherEvent(head, OF_CANVAS[head.operation], statusOfCanvas(head))
    case 'schedule':
      return otherEvent(head, OF_SCHEDULE[head.operation])
    default:
      return eventsOfTask(head)
  }
}

function eventsOfTask(task: Task): BatonEvent[] {
  if (task.state === 'removed') return []
  const running = task.operation === 'claim' ? task.live[task.fence] : undefined
  return [
    ...(BIRTHS.includes(task.operation) ? [taskEvent(task, 'task.published')] : []),
    ...lostNow(task).map(run => runEvent(task, 'task.lost', run)),
    ...endEvents(task),
    ...(isReadyNow(task) ? [taskEvent(task, 'task.ready')] : []),
    ...(running ? [runEvent(task, 'task.running', running)] : []),
  ]
}

const BIRTHS: readonly Operation[] = ['publish', 'restart']

/** The event of a head that is not a task. An operation without an event type yields none. */
function otherEvent(head: Head, type: EventType | undefined, status?: Status): BatonEvent[] {
  if (!type) return []
  return [
    {
      ...commonMembers(head, type, head.revision),
      ...(status && { status }),
      ...(head.operation === 'fail' && errorMember(head.error)),
    },
  ]
}

/** The status of a canvas. A canvas that has not ended is running, whatever the statuses of its members. */
function statusOfCanvas({ state }: Canvas): Status | undefined {
  if (state === 'removed') return undefined
  return state === 'open' ? 'running' : state
}

function lostNow(task: Task): EndedRun[] {
  if (!RUN_MOVES.lost.includes(task.operation)) return []
  return endedNow(task).filter(({ state }) => state === 'lost')
}

/** The runs that this change ended, in the order of their claims. */
function endedNow(task: Task): EndedRun[] {
  return endedRuns(task)
    .filter(({ endedAt }) => endedAt === task.updatedAt)
    .sort((a, b) => a.fence - b.fence)
}

/**
 * The events of a task's end. An ended task changes once more when its callbacks have been published (operation `settle`), which
 * yields no event, or when some of them cannot be published and stay owed (operation `owe`), which needs attention.
 */
function endEvents(task: Task): BatonEvent[] {
  if (task.state === 'open' || task.state === 'removed' || task.operation === 'settle') return []
  if (task.operation === 'owe') return [taskEvent(task, 'task.needs-attention')]
  const fence = endedBy(task)
  const run = fence === undefined ? {} : { runId: runId(task.born, fence) }
  const more = { ...run, ...(task.state === 'failed' && errorMember(task.error)) }
  const ended = { ...taskEvent(task, `task.${task.state}`), ...more }
  return needsAttention(task) ? [ended, { ...taskEvent(task, 'task.needs-attention'), ...more }] : [ended]
}

/** The fence of the run that ended the task, if it was a single run. A flow keeps a succeeded run in the record of its step. */
function endedBy(task: Task): number | undefined {
  const ended = endedNow(task).filter(({ state }) => state !== 'cancelled' && state !== 'released')
  const [run, another] = [...ended, ...stepEndedNow(task)]
  return another ? undefined : run?.fence
}

function stepEndedNow({ flow, updatedAt }: Task): ActionRecord[] {
  const action = flow?.steps[flow.presentStep]?.[flow.direction]
  return action?.fence !== undefined && action.endedAt === updatedAt ? [action] : []
}

/** Whether the change left the task claimable at once, with no live run. */
function isReadyNow(task: Task): boolean {
  if (task.state !== 'open' || liveRuns(task).length > 0 || task.dueAt > task.updatedAt) return false
  // A complete task only lacks its end. A task left in the running place is reported as ready once it has left that place.
  if (isComplete(task) || isIndexedAsRunning(task)) return false
  // A task that waits for a limit is reported as ready once its wait ends.
  return task.wait === undefined && (task.operation !== 'patch' || becameReadyByPatch(task))
}

/** Whether a patch made the task ready: it ended the task's runs, or made the task due now. Most patches do neither. */
function becameReadyByPatch(patched: Task): boolean {
  return patched.dueAt === patched.updatedAt || endedNow(patched).length > 0
}

function taskEvent(task: Task, type: EventType, number = task.revision): BatonEvent {
  const status = statusOf(task, task.updatedAt)
  return { ...commonMembers(task, type, number), taskType: task.type, status }
}

/** An event about a run. A run begins once and is lost once, so the event's id contains its fence, not the revision. */
function runEvent(
  task: Task,
  type: EventType,
  { fence, error }: { readonly fence: number; readonly error?: TaskError },
): BatonEvent {
  return { ...taskEvent(task, type, fence), runId: runId(task.born, fence), ...errorMember(error) }
}

/** The `error` of an event: the short error of the head, which keeps events small. */
function errorMember(error: TaskError | undefined): Pick<BatonEvent, 'error'> {
  return error ? { error: { name: error.name, message: error.message } } : {}
}

/** The members that the events of heads have in common. The id is unique, because births are unique among all heads. */
function commonMembers({ id, born, updatedAt }: Head, type: EventType, number: number): BatonEvent {
  return { id: `${born}.${number}.${wordOf(type)}`, type, at: updatedAt, taskId: id }
}

function wordOf(type: EventType): string {
  return type.slice(type.indexOf('.') + 1)
}

/** A worker joined or left the registry. `position` is the position of the change in the table's stream. */
export type WorkerChange = {
  readonly type: 'worker.joined' | 'worker.left'
  readonly workerId: string
  readonly at: number
  readonly position: string
}

export function workerEvent({ type, workerId, at, position }: WorkerChange): BatonEvent {
  const id = `worker-${hash32(workerId).toString(36)}.${position}.${wordOf(type)}`
  return { id, type, at, workerId }
}

/** Something that has happened. It may be delivered more than once, each time with the same id. */
export type BatonEvent = {
  /** ASCII without spaces, since the id is sent in headers. */
  readonly id: string
  readonly type: EventType
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The id of the task; for a canvas or a schedule the id of its head. */
  readonly taskId?: string
  /** The type of the task. */
  readonly taskType?: string
  /** The status after the change. */
  readonly status?: Status
  readonly runId?: string
  /** Why the task failed, or the run was lost. Its texts are cut to 120 characters; `GET` of the task shows the whole error. */
  readonly error?: ErrorCause
  readonly workerId?: string
}
