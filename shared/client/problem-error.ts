import type { Problem } from '../api/problems.ts'

/**
 * The one error of the client: the API refused a request, a task that was waited for did not succeed in time, or no
 * answer came. Look at `status` (0 when there was no answer) and `problem.type`; messages are for people.
 */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly problem: Problem
  readonly status: number

  constructor(problem: Problem, cause?: unknown) {
    super(`${problem.title}: ${problem.detail}`, cause === undefined ? {} : { cause })
    this.problem = problem
    this.status = problem.status
  }
}
