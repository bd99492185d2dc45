import type { Ordering, TypeKind } from '../states.ts'
import { hash32 } from '../values/text.ts'
import { type StepAction, undoName } from './flow-state.ts'
import { type Body, contentDigest } from './head-fields.ts'
import { type EndedRun, liveRuns, successes, type Task } from './task.ts'

/** The type of a task's present piece, and what follows from it: the queue, the ready place and the order of the task. */
type Work = {
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

/** The names of the types whose settings hold for the task: its own, and for a flow the type of its present step. */
export function rulingTypes(task: Task): string[] {
  return [...new Set([task.type, workOf(task).type])]
}

/** The present action of a flow; undefined for a task that is not a flow. */
export function actionOf({ flow }: Task): StepAction | undefined {
  return flow?.definition.steps[flow.presentStep]?.[flow.direction]
}

/** The name of the present piece: the stage, or a flow's step as `reserve` or `undo reserve`; undefined for a plain task. */
export function pieceOf({ flow, stage }: Task): string | undefined {
  const step = flow?.definition.steps[flow.presentStep]
  if (!step) return stage
  return flow?.direction === 'undo' ? undoName(step.name) : step.name
}

/** The time since which a worker could take the present piece: the due time, or the end of the step before it. */
export function openSince({ dueAt, flow }: Task): number {
  const actions = Object.values(flow?.steps ?? {}).flatMap(step => [step.do, step.undo])
  return Math.max(dueAt, ...actions.map(action => action?.endedAt ?? 0))
}

/** Whether both heads are at the same piece of the same birth. */
export function isSamePiece(one: Task, other: Task): boolean {
  return one.born === other.born && pieceOf(one) === pieceOf(other)
}

/** The idempotency key of the present piece. All runs of the piece share it. A step's undo has another key, and so has a restart. */
export function idempotencyKey(task: Task): string {
  const whole = `${task.id}/${task.born}`
  const piece = pieceOf(task)
  const round = task.flow?.round
  if (piece === undefined) return whole
  return round === undefined ? `${whole}/${piece}` : `${whole}/${piece}/${round}`
}

export type Attempts = {
  /** Succeeded, failed, lost and live runs. Released and cancelled runs do not count. */
  readonly used: number
  /** Runs that the budget still allows. Once the task has ended, these are runs that it did not need. */
  readonly left: number
}

/**
 * The runs that the present piece has used, and the runs that are left to it. With `maxRetries` 3 a plain task has four. The record
 * of a flow's last step keeps the number of its runs, because the head drops the success that ended the flow.
 */
export function attempts(task: Task): Attempts {
  const used = endedPiece(task) ?? task.failures + successes(task).length + liveRuns(task).length
  return { used, left: Math.max(0, mostRuns(task) - used) }
}

function endedPiece({ flow, state }: Task): number | undefined {
  return state === 'open' ? undefined : flow?.steps[flow.presentStep]?.[flow.direction]?.attempts
}

function mostRuns({ options: { concurrency, retry, workerIds } }: Task): number {
  if (retry.scope === 'task') return concurrency + retry.maxRetries
  return Math.max(concurrency, workerIds.length) * (retry.maxRetries + 1)
}

/** Failed and lost runs of one worker. A worker may be called `constructor`, so the lookup takes own members only. */
export function failuresOf(task: Task, workerId: string): number {
  return Object.hasOwn(task.failuresBy, workerId) ? (task.failuresBy[workerId] ?? 0) : 0
}

/** The last success of the present piece. Its result is the task's result, unless the task is a flow. */
export function lastSuccess(task: Task): EndedRun | undefined {
  return successes(task)
    .sort((a, b) => a.endedAt - b.endedAt || a.fence - b.fence)
    .at(-1)
}

/** Whether the result of the task is the result of this run. */
export function hasResultOf(task: Task, fence: number): boolean {
  const { flow, state } = task
  if (!flow) return lastSuccess(task)?.fence === fence
  return state === 'succeeded' && flow.steps[flow.definition.steps.length - 1]?.do.fence === fence
}

/** The result of the task: the result of its last success, or for a flow the result of its last step. */
export function resultOf(task: Task): Body | undefined {
  const { flow } = task
  if (!flow) return lastSuccess(task)?.result
  return task.state === 'succeeded' ? flow.steps[flow.definition.steps.length - 1]?.result : undefined
}

/** The digest of a success whose record keeps no result, because its stage is over or because it undid a step. */
export function pastDigest({ result, reportDigest }: EndedRun): string | undefined {
  return joinedDigest(digestOfResult(result), reportDigest)
}

/** One digest of a result's digest and a report's digest; undefined when both are undefined. */
export function joinedDigest(result: string | undefined, report: string | undefined): string | undefined {
  return result === undefined && report === undefined
    ? undefined
    : contentDigest([result ?? null, report ?? null])
}

/** The digest of a result. The `ref` of a result that is kept apart ends in this digest. */
export function digestOfResult(result: Body | undefined): string | undefined {
  if (!result) return undefined
  return 'ref' in result ? result.ref.split('#').at(-1) : contentDigest(result.inline)
}
