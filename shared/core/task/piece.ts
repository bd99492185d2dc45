import type { Ordering, TypeKind } from '../states.ts'
import { hash32 } from '../values/hash.ts'
import type { StepAction } from './flow-state.ts'
import type { Task } from './task.ts'

/** The type of a task's present piece, and what follows from it: the queue, the ready place and the order of the task. */
export type Work = {
  readonly type: string
  readonly kind: TypeKind
  readonly ordering: Ordering
  readonly shard: number
  /** Whether tenants take turns among the type's tasks. */
  readonly isFair?: true
}

/**
 * Whether workers take the task from the index, where the best task is in front. They do so for tasks claimed over HTTP, for types
 * that have an order, and where tenants take turns. Workers of all other types take the tasks that their queue delivers.
 */
export function isTakenInOrder(task: Task): boolean {
  const { kind, ordering, isFair = false } = workOf(task)
  return kind === 'http' || ordering !== 'arrival' || isFair || task.fairnessKey !== undefined
}

/** The type of the task's present piece: for a flow the type of its present step, else the task's own. */
export function workOf(task: Task): Work {
  const action = actionOf(task)
  if (!action) return task
  const { type, kind, ordering, shards, isFair } = action
  return { type, kind, ordering, shard: hash32(task.id) % shards, ...(isFair && { isFair }) }
}

/** The present action of a flow; undefined for a task that is not a flow. */
export function actionOf({ flow }: Task): StepAction | undefined {
  return flow?.definition.steps[flow.presentStep]?.[flow.direction]
}

/** The name of the present piece: the stage, or a flow's step as `reserve` or `undo reserve`; undefined for a plain task. */
export function pieceOf({ flow, stage }: Task): string | undefined {
  const step = flow?.definition.steps[flow.presentStep]
  if (!step) return stage
  return flow?.direction === 'undo' ? `undo ${step.name}` : step.name
}

/** The time since which a worker could take the present piece: the due time, or the end of the step before it. */
export function openSince({ dueAt, flow }: Task): number {
  const ends = Object.values(flow?.steps ?? {}).flatMap(step => [
    step.do.endedAt ?? 0,
    step.undo?.endedAt ?? 0,
  ])
  return Math.max(dueAt, ...ends)
}

/** Whether both heads are at the same piece of the same birth. */
export function isSamePiece(one: Task, other: Task): boolean {
  return one.born === other.born && pieceOf(one) === pieceOf(other)
}

/**
 * The idempotency key of the present piece. All runs of the piece share it. A step's undo has another key, and so has a restart.
 */
export function idempotencyKey(task: Task): string {
  const whole = `${task.id}/${task.born}`
  const piece = pieceOf(task)
  const round = task.flow?.round
  if (piece === undefined) return whole
  return round === undefined ? `${whole}/${piece}` : `${whole}/${piece}/${round}`
}
