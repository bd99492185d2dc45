import type { Client } from '../../shared/client/client.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import type { FilterOptions } from '../tasks/list-filter.ts'
import type { ReportSettings } from './report.ts'

/** What `retry`, `cancel` and `remove` do to each task. */
export type TaskAction<Options> = {
  /** The name of the command. */
  readonly name: string
  /** Begins the question, such as `Remove`. */
  readonly verb: string
  /** What has happened to the task then, such as `removed`. */
  readonly done: string
  /** The statuses that are selected when the user names none. @default all */
  readonly defaultStatus?: NonNullable<FilterOptions['status']>
  /** Statuses of refusals that say that there is nothing left to do. @default none */
  readonly doneStatuses?: readonly number[]
  /** Options of the command that must be the same when it goes on with a report. @default none */
  settings?(options: Options): ReportSettings
  /** The words of the command that give these settings again. @default none */
  words?(options: Options): readonly string[]
  /** `ifRevision` is that of a selected task. The API refuses to change the task if a person has changed it since. */
  apply(client: Client, id: string, options: Options & { readonly ifRevision?: number }): Promise<unknown>
}

/** The problem of a refused call. Any other error is a fault of this program. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  throw error
}
