import type { Problem } from '../api/problems.ts'
import { recogniseAcrossCopies } from '../core/brand.ts'

/**
 * The only error class of the client: the API refused a request, a task did not succeed in time, or no answer came.
 * Decide by `status` and `problem.type`: messages are for people and may change.
 */
export class ProblemError extends Error {
  static {
    recogniseAcrossCopies(ProblemError, 'ProblemError')
  }

  override readonly name = 'ProblemError'
  /** The problem document of the answer (RFC 9457), or one that the client made. */
  readonly problem: Problem
  /** The HTTP status; 0 when no answer came. */
  readonly status: number

  constructor(problem: Problem, cause?: unknown) {
    super(`${problem.title}: ${problem.detail}`, cause === undefined ? {} : { cause })
    this.problem = problem
    this.status = problem.status
  }
}
