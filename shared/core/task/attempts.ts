import { liveRuns, successes, type Task } from './task.ts'

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
