import { endedRuns, liveRuns, type Task } from '../../../shared/core/task/task.ts'
import type { HistoryEvent } from '../world/history.ts'

/** Reads pieces (stages and steps) and runs of tasks from their heads. */

/** The type whose workers execute the task now: for a flow the type of its present step. */
export function servingTypeOf({ type, flow }: Task): string {
  return flow?.definition.steps[flow.presentStep]?.[flow.direction]?.type ?? type
}

/** The piece that a task is at: its stage, or its step with the direction; empty for other tasks. */
export function pieceOf({ stage, flow }: Task): string {
  return flow ? `${flow.direction} ${flow.presentStep}` : (stage ?? '')
}

/** Whether a write opened a piece, or opened the same piece again. */
export function opensPiece(before: Task | undefined, after: Task): boolean {
  if (!before || before.born !== after.born || after.operation === 'resume') return true
  return pieceOf(before) !== pieceOf(after)
}

/**
 * When the worker may try the task again after its failure. Under retry scope `worker` each worker of a task for several waits for a
 * time of its own, as long as it has retries left. The workers of a Lambda never come back, so all wait for one time.
 */
export function retryTimeOf(after: Task, workerId: string): number | undefined {
  if (!hasOwnRetries(after, workerId)) return after.dueAt
  const isSpent = (after.failuresBy[workerId] ?? 0) > after.options.retry.maxRetries
  return isSpent ? undefined : (after.retryAtBy[workerId] ?? after.updatedAt)
}

export function hasOwnRetries(
  { options: { retry, concurrency, workerIds } }: Task,
  workerId: string,
): boolean {
  const isForSeveral = concurrency > 1 || workerIds.length > 0
  return retry.scope === 'worker' && isForSeveral && !workerId.startsWith('lambda-')
}

/** How each run in a head ended, by fence. A flow keeps the successes of its steps with the steps. */
export function endsOf(task: Task): Readonly<Record<string, string>> {
  const ofRuns = endedRuns(task).map(({ fence, state }) => [fence, state] as const)
  const ofSteps = Object.values(task.flow?.steps ?? {}).flatMap(({ do: done, undo }) =>
    [done.fence, undo?.fence].flatMap(fence => (fence === undefined ? [] : [[fence, 'succeeded'] as const])),
  )
  return Object.fromEntries([...ofRuns, ...ofSteps])
}

/** The run that a write started, if the write is a claim. */
export function claimIn(event: HistoryEvent) {
  if (event.what !== 'write' || event.after.operation !== 'claim') return undefined
  const { before, after } = event
  return liveRuns(after).find(({ fence }) => !before?.live[fence])
}
