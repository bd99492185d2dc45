import { describeSteps } from '../../../shared/core/flow/flow.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { FlowDefinition } from '../../../shared/core/task/flow-state.ts'
import { pieceOf } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { Json } from '../../../shared/core/values/values.ts'
import { aFlow, afterOf, aPublication, BORN, NOW } from './a-task.ts'

/** This file names what can happen to a flow. */

/** Steps `a`, `b` and `c`. Each has an undo; each `do` and `undo` is retried once after a second. */
export const THREE_STEPS = aFlow({ steps: ['a', 'b', 'c'].map(name => ({ name, undo: {} })) })

/** `order:k1`, published now. */
export function aFlowTask(
  flow: FlowDefinition = THREE_STEPS,
  parts: Parameters<typeof aPublication>[0] = {},
): Task {
  const publication = aPublication({ type: 'order', kind: 'flow', input: { sku: 'x' }, flow, ...parts })
  return create(publication, undefined, NOW).after
}

export function claimedBy(task: Task, workerId = 'w1', now = NOW, startsAt = now): Task {
  return afterOf(claim(task, { workerId }, now, { startsAt }))
}

/** The task after the run that was claimed last has ended with `outcome`. */
export function ended(task: Task, outcome: Outcome, now = NOW): Task {
  return afterOf(finish(task, { born: BORN, fence: task.fence, ...outcome }, now, 0))
}

export const DONE = { outcome: 'succeed' } as const

export function failingFor(message: string, fatal = true): Outcome {
  return { outcome: 'fail', error: { name: 'Error', message }, fatal }
}

/** The task after its next run has succeeded. */
export function done(task: Task, result?: Json, now = NOW): Task {
  return ended(claimedBy(task, 'w1', now), { ...DONE, ...(result !== undefined && { result }) }, now)
}

/** The task after its next runs have succeeded. */
export function doneTimes(task: Task, times: number): Task {
  return Array.from({ length: times }).reduce<Task>(before => done(before), task)
}

/** The task after its next run has failed for good. */
export function failedFor(task: Task, message: string, now = NOW): Task {
  return ended(claimedBy(task, 'w1', now), failingFor(message), now)
}

export function statesOf(task: Task): string[] {
  return describeSteps(task).map(({ state }) => state)
}

/** Lets runs succeed until the task has ended. Returns their pieces in order, and the ended task. */
export function undoneInTurn(task: Task, now = NOW): { pieces: Array<string | undefined>; task: Task } {
  const pieces: Array<string | undefined> = []
  let current = task
  while (current.state === 'open') {
    pieces.push(pieceOf(current))
    current = done(current, undefined, now)
  }
  return { pieces, task: current }
}
