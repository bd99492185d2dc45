import { SHOWN_RUNS_MAX } from '../../core/bounds.ts'
import { isCut } from '../../core/task/body.ts'
import type { Task, TaskError } from '../../core/task/task.ts'
import type { System } from './system.ts'

/** Heads keep errors in short; the record of the run it comes from has all of it. */
export async function fullError(system: Pick<System, 'tasks'>, task: Task): Promise<TaskError> {
  const { error = UNTOLD } = task
  if (!isCut(error)) return error
  const records = await system.tasks.runRecords(task.id, task.born, SHOWN_RUNS_MAX)
  return records.find(run => run.error && isShortOf(error, run.error))?.error ?? error
}

const UNTOLD: TaskError = { name: 'Error', message: 'failed' }

function isShortOf(short: TaskError, full: TaskError): boolean {
  return short.name === full.name && full.message.startsWith(short.message.slice(0, -1))
}
