import { hash32 } from '../hash.ts'
import type { StepAction } from './flow-state.ts'
import type { Ordering, Task, TaskKind } from './task.ts'

/** Who works on a task now: which type's queue or ready place it goes to, and in which order. */
export type Work = {
  readonly type: string
  readonly kind: TaskKind
  readonly ordering: Ordering
  readonly shard: number
  /** Whether tenants take turns among its tasks. */
  readonly isFair?: true
}

/**
 * Whether who works on the task takes it from the index, where the best one is in front: over HTTP, and where its type
 * has an order. Others take what their queue delivers. Tenants take turns in the index only.
 */
export function isTakenInOrder(task: Task): boolean {
  const { kind, ordering, isFair = false } = workOf(task)
  return kind === 'http' || ordering !== 'arrival' || isFair || task.fairnessKey !== undefined
}

/** The type that serves the present piece of a task: of a flow that of its step, else its own. */
export function workOf(task: Task): Work {
  const action = actionOf(task)
  if (!action) return task
  const { type, kind, ordering, shards, isFair } = action
  return { type, kind, ordering, shard: hash32(task.id) % shards, ...(isFair && { isFair }) }
}

/** What a flow works on now; undefined for all other tasks. */
export function actionOf({ flow }: Task): StepAction | undefined {
  return flow?.definition.steps[flow.at]?.[flow.direction]
}

/** Names the present piece of a task that has several: its stage, or a flow's step as `reserve` or `undo reserve`. */
export function pieceOf({ flow, stage }: Task): string | undefined {
  const step = flow?.definition.steps[flow.at]
  if (!step) return stage
  return flow?.direction === 'undo' ? `undo ${step.name}` : step.name
}

/** Since when the present piece could be worked on: its due time, or the end of the step before it. */
export function openSince({ dueAt, flow }: Task): number {
  const ends = Object.values(flow?.steps ?? {}).flatMap(step => [
    step.do.endedAt ?? 0,
    step.undo?.endedAt ?? 0,
  ])
  return Math.max(dueAt, ...ends)
}

/** Whether what was decided on one of them is about the piece that the other is at. */
export function isSamePiece(one: Task, other: Task): boolean {
  return one.born === other.born && pieceOf(one) === pieceOf(other)
}

/** Stable over the runs of one piece of work; a step's undo is another piece, and so is all after a restart. */
export function idempotencyKey(task: Task): string {
  const whole = `${task.id}/${task.born}`
  const piece = pieceOf(task)
  const round = task.flow?.round
  if (piece === undefined) return whole
  return round === undefined ? `${whole}/${piece}` : `${whole}/${piece}/${round}`
}
