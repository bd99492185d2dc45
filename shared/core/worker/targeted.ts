import { failuresOf } from '../task/attempts.ts'
import { liveRuns, successes, type Task, workersWanted } from '../task/task.ts'

/** The listed workers that may still take the task, whether it is due or not. None when the task wants no more workers now. */
export function awaitedWorkers(task: Task): readonly string[] {
  if (task.state !== 'open' || workersWanted(task) <= 0) return []
  const took = new Set([...liveRuns(task), ...successes(task)].map(run => run.workerId))
  return task.options.workerIds.filter(id => !took.has(id) && hasBudget(task, id))
}

/**
 * Whether the retry budget allows the worker another run. With scope `worker` each worker has a budget of its own. With scope
 * `task` the answer is always yes, because the task ends when its budget is spent.
 */
export function hasBudget(task: Task, workerId: string): boolean {
  const { retry } = task.options
  return retry.scope === 'task' || failuresOf(task, workerId) <= retry.maxRetries
}
