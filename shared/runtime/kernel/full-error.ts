import { SHOWN_RUNS_MAX } from '../../core/bounds.ts'
import type { Task } from '../../core/task/task.ts'
import { isCut, type TaskError } from '../../core/task-error/task-error.ts'
import type { System } from './system.ts'

/** The whole error of a failed task. The head keeps a shortened copy; the record of the run keeps all of it. */
export async function fullError(system: Pick<System, 'tasks'>, task: Task): Promise<TaskError> {
  const { error = UNKNOWN_ERROR } = task
  if (!isCut(error)) return error
  const records = await system.tasks.runRecords(task.id, task.born, SHOWN_RUNS_MAX)
  return records.find(run => run.error && isShortOf(error, run.error))?.error ?? error
}

const UNKNOWN_ERROR: TaskError = { name: 'Error', message: 'failed' }

function isShortOf(short: TaskError, full: TaskError): boolean {
  return short.name === full.name && full.message.startsWith(short.message.slice(0, -1))
}
