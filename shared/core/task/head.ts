/**
 * A head is the item of one key: everything about it but large bodies and the records of failed runs. There are three kinds, told
 * apart by `kind`: a task, a canvas and a schedule. The type in an id fixes for ever which of the three it is. Canvases and
 * schedules are stored, indexed, looked at and removed as tasks are, but no worker can claim them.
 *
 * A transition takes the kind of head that it is meant for. Only what works on every head takes a `Head`.
 */

import { TICK_REMAINS_MS } from '../bounds.ts'
import { eachMember } from '../values/values.ts'
import type { Body, Canvas, HeadFields, Schedule, SeparateBody } from './head-fields.ts'
import { SCHEDULE_TYPE } from './head-fields.ts'
import { type Task, taskIdPrefix } from './task.ts'

export type Head = Task | Canvas | Schedule

/** The heads of the same kind as `H`, in any state. */
export type OfKind<H extends Head> = H extends Task ? Task : H extends Canvas ? Canvas : Schedule

export function isTask(head: Head): head is Task {
  return !isCanvas(head) && !isSchedule(head)
}

export function isCanvas(head: Head): head is Canvas {
  return head.kind === 'canvas'
}

export function isSchedule(head: Head): head is Schedule {
  return head.kind === 'schedule'
}

/** Whether both heads are tasks, both canvases, or both schedules. The kind of a task's type may change between two births. */
export function isSameKind<Kind extends Head>(one: Kind, other: Head): other is Kind {
  return isCanvas(one) === isCanvas(other) && isSchedule(one) === isSchedule(other)
}

/** The bodies that expire before `until`. A head that needs them until then must renew them first. */
export function bodiesExpiringBefore(head: Head, until: number): SeparateBody[] {
  return separateBodies(head).filter(({ expiresAt }) => expiresAt < until)
}

/** All bodies that the head refers to and that are items of their own. */
export function separateBodies(head: Head): SeparateBody[] {
  const found: SeparateBody[] = []
  withBodies(head, body => {
    if ('ref' in body) found.push(body)
    return body
  })
  return found
}

/** The head with each of its bodies replaced. */
export function withBodies(head: Head, replaced: (body: Body) => Body): Head {
  switch (head.kind) {
    case 'canvas':
      return head.canvas ? { ...head, canvas: { ...head.canvas, tree: replaced(head.canvas.tree) } } : head
    case 'schedule':
      return head.input ? { ...head, input: replaced(head.input) } : head
    default:
      return withBodiesOfTask(head, replaced)
  }
}

function withBodiesOfTask(task: Task, replaced: (body: Body) => Body): Task {
  const { input, previous, callbacks, flow } = task
  return {
    ...task,
    ended: eachMember(task.ended, run => (run.result ? { ...run, result: replaced(run.result) } : run)),
    ...(input && { input: replaced(input) }),
    ...(previous?.kind === 'body' && { previous: { ...previous, body: replaced(previous.body) } }),
    ...(callbacks && { callbacks: { ...callbacks, body: replaced(callbacks.body) } }),
    ...(flow && {
      flow: {
        ...flow,
        steps: eachMember(flow.steps, step =>
          step.result ? { ...step, result: replaced(step.result) } : step,
        ),
      },
    }),
  }
}

/**
 * The fences of a key grow for ever, even when the task has expired and its key is published again. A handler may rely on this: it
 * may guard its own writes by key and fence, and refuse a fence smaller than the last one.
 *
 * A first publication therefore begins at the number of seconds since a fixed time. The store deletes a head only after the time
 * at which a new publication would begin beyond the head's last fence.
 */

/** The fixed time: any time before the first release. The seconds since then fit into a signed integer of 32 bits until 2094. */
export const FENCE_EPOCH_MS = Date.UTC(2026, 0, 1, 12)

/** The clock of a publishing process may be behind by less than this. */
const FENCE_SKEW_MS = 60_000

/**
 * The fence with which a publication at `now` begins; its first claim gets the next one. It is larger than the last fence of every
 * head of the key that the store has deleted by then.
 */
export function firstFence(now: number): number {
  return Math.max(0, Math.floor((now - FENCE_EPOCH_MS) / 1_000))
}

/** The time from which every new publication begins beyond this fence. */
export function fencePassedAt(fence: number): number {
  return FENCE_EPOCH_MS + (fence + 1) * 1_000 + FENCE_SKEW_MS
}

type Ending = HeadFields & { readonly owes?: true; readonly parentId?: string }

/**
 * The time from which the store may delete a head; undefined while it may not. Readers treat the head as gone from `expiresAt` on.
 *
 * - A task that owes callbacks stays until they are published, however short its retention.
 * - A head stays until the fences of a new publication begin beyond its own.
 * - The task of a tick stays for `TICK_REMAINS_MS` after its creation, because its key prevents a second publish of the tick.
 */
export function deletableAt({ expiresAt, owes, fence, parentId, createdAt }: Ending): number | undefined {
  if (expiresAt === undefined || owes) return undefined
  const isOfTick = parentId?.startsWith(taskIdPrefix(SCHEDULE_TYPE)) ?? false
  return Math.max(expiresAt, fencePassedAt(fence), isOfTick ? createdAt + TICK_REMAINS_MS : 0)
}
