import { API_PROBLEM_CODES, type ApiProblemCode } from '../api/problem-codes.ts'
import type { Problem } from '../api/problems.ts'
import { recogniseAcrossCopies } from '../core/values/values.ts'

/**
 * Why a call failed. The codes of the API, and those that the client or a gateway in front of the API adds:
 *
 * - `unauthorized`, `forbidden`, `throttled`: a gateway refused the caller (401, 403), or too many requests (429);
 * - `no-answer`: the request could not be sent, or the connection broke;
 * - `bad-answer`: the answer is not what the API sends, for example the page of a proxy;
 * - `timeout`: the call, or the task that it waits for, did not end in time;
 * - `aborted`: the caller's signal has aborted;
 * - `task-failed`: the task or canvas whose result was awaited has failed or was cancelled.
 */
export type ProblemCode = ApiProblemCode | ClientCode | GatewayCode

const CLIENT_CODES = ['no-answer', 'bad-answer', 'timeout', 'aborted', 'task-failed'] as const
type ClientCode = (typeof CLIENT_CODES)[number]
type GatewayCode = 'unauthorized' | 'forbidden' | 'throttled'

/** What an answer without a problem document means, by its status. */
const CODES_BY_STATUS: Readonly<Record<number, ProblemCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  409: 'conflict',
  413: 'too-large',
  429: 'throttled',
  501: 'not-here',
}

const PREFIX = 'urn:baton:problem:'

/**
 * The only error class of the client: the API refused a request, a task did not succeed in time, or no answer came.
 * Decide by `code`: messages are for people and may change.
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
  /** Why the call failed, as one of a closed list of words. */
  readonly code: ProblemCode

  constructor(problem: Problem, cause?: unknown) {
    super(`${problem.title}: ${problem.detail}`, cause === undefined ? {} : { cause })
    this.problem = problem
    this.status = problem.status
    this.code = codeOf(problem)
  }
}

/** Makes the error of a failure that no answer describes. */
export function clientProblem(
  code: ClientCode | 'invalid',
  problem: Omit<Problem, 'type'>,
  cause?: unknown,
): ProblemError {
  return new ProblemError({ type: PREFIX + code, ...problem }, cause)
}

function codeOf({ type, status }: Problem): ProblemCode {
  const named = [...API_PROBLEM_CODES, ...CLIENT_CODES].find(code => type === PREFIX + code)
  const byStatus = CODES_BY_STATUS[status] ?? (status < 500 ? 'invalid' : 'unavailable')
  return named ?? (status === 500 ? 'internal' : byStatus)
}
