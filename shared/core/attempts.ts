import { liveRuns, successes, type Task } from './task.ts'

export type Attempts = {
  /** Runs that count: succeeded, failed, lost and live ones. */
  readonly used: number
  /** How many more may begin before the task must fail. */
  readonly left: number
}

/** What a task has used of its runs, and what is left: with `maxRetries` 3 a plain task has four. */
export function attempts(task: Task): Attempts {
  const used = task.failures + successes(task).length + liveRuns(task).length
  return { used, left: task.state === 'open' ? Math.max(0, mostRuns(task) - used) : 0 }
}

function mostRuns({ options: { concurrency, retry, workerIds } }: Task): number {
  if (retry.scope === 'task') return concurrency + retry.maxRetries
  return Math.max(concurrency, workerIds.length) * (retry.maxRetries + 1)
}
