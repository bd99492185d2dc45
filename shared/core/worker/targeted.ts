import { failuresOf } from '../task/attempts.ts'
import { liveRuns, successes, type Task, workersWanted } from '../task/task.ts'

/** The listed workers that a task with a free slot waits for, whether it is due or not. */
export function awaitedWorkers(task: Task): readonly string[] {
  if (task.state !== 'open' || workersWanted(task) <= 0) return []
  const took = new Set([...liveRuns(task), ...successes(task)].map(run => run.workerId))
  return task.options.workerIds.filter(id => !took.has(id) && hasBudget(task, id))
}

/** Retry scope `task` ends the task when its budget is spent; with scope `worker` each worker has its own. */
export function hasBudget(task: Task, workerId: string): boolean {
  const { retry } = task.options
  return retry.scope === 'task' || failuresOf(task, workerId) <= retry.maxRetries
}
