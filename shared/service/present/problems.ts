import type { ApiProblemCode } from '../../api/problem-codes.ts'
import type { Problem } from '../../api/problems.ts'
import { REQUEST_BYTES_MAX } from '../../core/bounds.ts'
import { cut } from '../../core/task-error/task-error.ts'
import { BatonError, type ErrorCode, type FieldProblem } from '../../core/values/values.ts'

/** The kinds of problems, each with its status and title. A problem's `type` ends with its kind. */
export const PROBLEM_KINDS = {
  invalid: [400, 'The request is not valid'],
  'not-found': [404, 'The resource does not exist'],
  'unknown-type': [404, 'The task type is not registered'],
  'method-not-allowed': [405, 'The resource does not know this method'],
  conflict: [409, 'The present state does not allow it'],
  'stale-revision': [409, 'Someone else has changed it since it was read'],
  'too-large': [413, 'The request is too large'],
  'unsupported-media-type': [415, 'The body is not JSON'],
  'too-many-waiting': [429, 'Too many claims wait at the moment'],
  internal: [500, 'Something went wrong'],
  'not-here': [501, 'Not available here'],
  unreadable: [500, 'The stored data cannot be read'],
  'newer-schema': [500, 'The data was written by a newer version'],
  unavailable: [503, 'The storage does not answer at the moment'],
} as const satisfies Record<ApiProblemCode, readonly [number, string]>

export type ProblemKind = ApiProblemCode

type ProblemMembers = Pick<
  Problem,
  'errors' | 'reason' | 'holder' | 'run' | 'requestId' | 'retryAfterMs' | 'revision'
>

/** Problems repeat parts of the request. These parts are cut to these lengths, so that every answer can be delivered. */
const ERRORS_MAX = 100
const DETAIL_CHARACTERS_MAX = 4_000
const PATH_CHARACTERS_MAX = 500

export function problem(
  kind: ProblemKind,
  detail: string,
  { errors, ...more }: ProblemMembers = {},
): Problem {
  const [status, title] = PROBLEM_KINDS[kind]
  return {
    type: `urn:baton:problem:${kind}`,
    title,
    status,
    detail: cut(detail, DETAIL_CHARACTERS_MAX),
    ...(errors && { errors: errors.slice(0, ERRORS_MAX).map(shortProblem) }),
    ...more,
  }
}

function shortProblem({ path, message }: FieldProblem): FieldProblem {
  return { path: cut(path, PATH_CHARACTERS_MAX), message: cut(message, DETAIL_CHARACTERS_MAX) }
}

/** The problem of invalid input. Its detail names the first wrong field, its `errors` name all. */
export function invalid(errors: readonly FieldProblem[], kind: 'invalid' | 'too-large' = 'invalid'): Problem {
  const [first] = errors
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  const detail = first ? `${first.path === '' ? 'the body' : first.path} ${first.message}${more}` : ''
  return problem(kind, detail, { errors })
}

const KIND_OF_CODE = {
  invalid: 'invalid',
  'unknown-type': 'unknown-type',
  'too-large': 'too-large',
  refused: 'conflict',
  unstorable: 'invalid',
  unreadable: 'unreadable',
  'newer-schema': 'newer-schema',
  contended: 'unavailable',
  unavailable: 'unavailable',
  misconfigured: 'internal',
} as const satisfies Record<ErrorCode, ProblemKind>

/** The problem of a thrown error. An unexpected error shows only the request id under which the log describes it. */
export function problemOfError(error: unknown, requestId: string): Problem {
  const kind = error instanceof BatonError ? KIND_OF_CODE[error.code] : 'internal'
  if (kind === 'internal') {
    return problem(kind, `an unexpected error; the log describes it under request ${requestId}`, {
      requestId,
    })
  }
  if (kind === 'unavailable') return problem(kind, 'try again in a moment', { requestId })
  const { message, problems } = error as BatonError
  return problem(kind, message, { requestId, ...(problems.length > 0 && { errors: problems }) })
}

/** The problem of a body that is longer than the API takes. */
export function tooLargeBody(): Problem {
  return problem('too-large', `the body has more than ${REQUEST_BYTES_MAX} bytes; send less at a time`)
}
