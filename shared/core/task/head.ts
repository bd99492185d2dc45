/**
 * A head is the item of one key: everything about it but large bodies and the records of failed runs. There are three kinds, told
 * apart by `kind`: a task, a canvas and a schedule. The type in an id fixes for ever which of the three it is. Canvases and
 * schedules are stored, indexed, looked at and removed as tasks are, but no worker can claim them.
 *
 * A transition takes the kind of head that it is meant for. Only what works on every head takes a `Head`.
 */

import type { Body, SeparateBody } from './body.ts'
import type { Canvas } from './canvas-state.ts'
import type { Schedule } from './schedule-state.ts'
import type { Task } from './task.ts'

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
    ended: mapped(task.ended, run => (run.result ? { ...run, result: replaced(run.result) } : run)),
    ...(input && { input: replaced(input) }),
    ...(previous?.kind === 'body' && { previous: { ...previous, body: replaced(previous.body) } }),
    ...(callbacks && { callbacks: { ...callbacks, body: replaced(callbacks.body) } }),
    ...(flow && {
      flow: {
        ...flow,
        steps: mapped(flow.steps, step => (step.result ? { ...step, result: replaced(step.result) } : step)),
      },
    }),
  }
}

function mapped<T>(record: Readonly<Record<string, T>>, change: (member: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([name, member]) => [name, change(member)]))
}
