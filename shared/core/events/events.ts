/**
 * What a change tells, read from the table's stream: the item as the change left it, and nothing of how it was before.
 * An id follows from what happened, so that a stream that is read again tells nothing new.
 *
 * Not every step of a task is a change. A task that falls due, where nobody has to write for that, becomes ready in
 * silence; a change of what is ready already tells nothing.
 */

import { needsAttention } from '../flow/describe-steps.ts'
import { hash32 } from '../hash.ts'
import { isComplete, isLeftInRunningPlace } from '../run/several-successes.ts'
import { statusOf } from '../status/status.ts'
import type { ActionRecord } from '../task/flow-state.ts'
import { RUN_MOVES, type Status } from '../task/lifecycle.ts'
import {
  type EndedRun,
  endedRuns,
  liveRuns,
  type Operation,
  runId,
  type Task,
  type TaskError,
  type TaskKind,
  type TypeKind,
} from '../task/task.ts'
import type { BatonEvent, EventType } from './event-types.ts'

type Called = Partial<Record<Operation, EventType>>

/**
 * Heads that are no tasks, by their kind: what each operation on them is called. What stands in no line tells nothing.
 * A new kind of head that is no task needs its line here to compile.
 */
const OF_OTHER_KINDS: Readonly<Record<Exclude<TaskKind, TypeKind>, Called>> &
  Readonly<Partial<Record<TypeKind, never>>> = {
  canvas: {
    publish: 'canvas.published',
    succeed: 'canvas.succeeded',
    fail: 'canvas.failed',
    cancel: 'canvas.cancelled',
  },
  schedule: { tick: 'schedule.ticked' },
}

/** The events of one change of a head, in the order in which things happened. */
export function eventsOf(task: Task): BatonEvent[] {
  const called = OF_OTHER_KINDS[task.kind]
  if (called) return otherEvent(task, called[task.operation])
  if (task.state === 'removed') return []
  const running = task.operation === 'claim' ? task.live[task.fence] : undefined
  return [
    ...(BIRTHS.includes(task.operation) ? [taskEvent(task, 'task.published')] : []),
    ...lostNow(task).map(run => runEvent(task, 'task.lost', run)),
    ...ending(task),
    ...(isReadyNow(task) ? [taskEvent(task, 'task.ready')] : []),
    ...(running ? [runEvent(task, 'task.running', running)] : []),
  ]
}

const BIRTHS: readonly Operation[] = ['publish', 'restart']

function otherEvent(head: Task, type: EventType | undefined): BatonEvent[] {
  if (!type) return []
  const status = head.canvas && statusOfCanvas(head)
  return [
    {
      ...named(head, type, head.revision),
      ...(status && { status }),
      ...(head.operation === 'fail' && why(head.error)),
    },
  ]
}

/** A canvas that has not ended is running, whatever its members are at. */
function statusOfCanvas({ state }: Task): Status | undefined {
  if (state === 'removed') return undefined
  return state === 'open' ? 'running' : state
}

function lostNow(task: Task): EndedRun[] {
  if (!RUN_MOVES.lost.includes(task.operation)) return []
  return endedNow(task).filter(({ state }) => state === 'lost')
}

/** In the order of their claims. */
function endedNow(task: Task): EndedRun[] {
  return endedRuns(task)
    .filter(({ endedAt }) => endedAt === task.updatedAt)
    .sort((a, b) => a.fence - b.fence)
}

const CALLED = { succeeded: 'task.succeeded', failed: 'task.failed', cancelled: 'task.cancelled' } as const

/** An ended task changes once more when its callbacks are published. */
function ending(task: Task): BatonEvent[] {
  if (task.state === 'open' || task.state === 'removed' || task.operation === 'settle') return []
  if (task.operation === 'owe') return [taskEvent(task, 'task.needs-attention')]
  const fence = endedBy(task)
  const run = fence === undefined ? {} : { runId: runId(task.born, fence) }
  const more = { ...run, ...(task.state === 'failed' && why(task.error)) }
  const ended = { ...taskEvent(task, CALLED[task.state]), ...more }
  return needsAttention(task) ? [ended, { ...taskEvent(task, 'task.needs-attention'), ...more }] : [ended]
}

/** The run with which the task ended, if it was one alone. A flow keeps one that succeeded with its step. */
function endedBy(task: Task): number | undefined {
  const ended = endedNow(task).filter(({ state }) => state !== 'cancelled' && state !== 'released')
  const [run, another] = [...ended, ...stepEndedNow(task)]
  return another ? undefined : run?.fence
}

function stepEndedNow({ flow, updatedAt }: Task): ActionRecord[] {
  const action = flow?.steps[flow.at]?.[flow.direction]
  return action?.fence !== undefined && action.endedAt === updatedAt ? [action] : []
}

/** Whether the change left the task, or what it undoes, to be claimed at once, with no run at work on it. */
function isReadyNow(task: Task): boolean {
  if (task.state !== 'open' || liveRuns(task).length > 0 || task.dueAt > task.updatedAt) return false
  // What is complete only lacks its end; what has outstayed its place is told as ready once it has left that.
  if (isComplete(task) || isLeftInRunningPlace(task)) return false
  // What waits for a limit is told once it waits no more.
  return task.wait === undefined && (task.operation !== 'patch' || isOpenedBy(task))
}

/** Most patches of what is ready change nothing about that: only one that stopped its runs does, or that made it due now. */
function isOpenedBy(patched: Task): boolean {
  return patched.dueAt === patched.updatedAt || endedNow(patched).length > 0
}

function taskEvent(task: Task, type: EventType): BatonEvent {
  return { ...named(task, type, task.revision), taskType: task.type, status: statusOf(task, task.updatedAt) }
}

/** A run begins once and is lost once, so its fence names that better than the revision does. */
function runEvent(
  task: Task,
  type: EventType,
  { fence, error }: { readonly fence: number; readonly error?: TaskError },
): BatonEvent {
  const status = statusOf(task, task.updatedAt)
  return {
    ...named(task, type, fence),
    taskType: task.type,
    status,
    runId: runId(task.born, fence),
    ...why(error),
  }
}

/** Heads keep errors in short, so that events stay small. */
function why(error: TaskError | undefined): Pick<BatonEvent, 'error'> {
  return error ? { error: { name: error.name, message: error.message } } : {}
}

/** Births are unique among all tasks. */
function named({ id, born, updatedAt }: Task, type: EventType, number: number): BatonEvent {
  return { id: `${born}.${number}.${wordOf(type)}`, type, at: updatedAt, taskId: id }
}

function wordOf(type: EventType): string {
  return type.slice(type.indexOf('.') + 1)
}

/** That a worker came into the registry, or went. `position` is that of the change in the table's stream. */
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
