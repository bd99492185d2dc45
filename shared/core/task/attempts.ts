import { liveRuns, successes, type Task } from './task.ts'

export type Attempts = {
  /** Runs that count: succeeded, failed, lost and live ones. */
  readonly used: number
  /** How many more the budget had room for; once the task has ended, how many of them it did not need. */
  readonly left: number
}

/**
 * What the present piece of a task has used of its runs, and what is left: with `maxRetries` 3 a plain task has four. A piece
 * that has ended a flow keeps its number with the step, since the head drops the success that ended it.
 */
export function attempts(task: Task): Attempts {
  const used = endedPiece(task) ?? task.failures + successes(task).length + liveRuns(task).length
  return { used, left: Math.max(0, mostRuns(task) - used) }
}

function endedPiece({ flow, state }: Task): number | undefined {
  return state === 'open' ? undefined : flow?.steps[flow.at]?.[flow.direction]?.attempts
}

function mostRuns({ options: { concurrency, retry, workerIds } }: Task): number {
  if (retry.scope === 'task') return concurrency + retry.maxRetries
  return Math.max(concurrency, workerIds.length) * (retry.maxRetries + 1)
}

/** Failed and lost runs of one worker (a worker may be called `constructor`). */
export function failuresOf(task: Task, workerId: string): number {
  return Object.hasOwn(task.failuresBy, workerId) ? (task.failuresBy[workerId] ?? 0) : 0
}
