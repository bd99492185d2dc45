import type { Problem } from '../../shared/client/api-types.ts'
import { BatonError, type ErrorCode, type FieldProblem } from '../../shared/core/errors.ts'
import { cut } from '../../shared/core/task/body.ts'

/** Kinds of problems by their name in `type`, each with its status and title. */
const KINDS = {
  invalid: [400, 'The request is not valid'],
  'not-found': [404, 'There is no such thing'],
  'unknown-type': [404, 'The task type is not registered'],
  'method-not-allowed': [405, 'The resource does not know this method'],
  conflict: [409, 'The present state does not allow it'],
  'too-large': [413, 'The request is too large'],
  'unsupported-media-type': [415, 'The body is not JSON'],
  'too-many-waiting': [429, 'Too many claims wait at the moment'],
  internal: [500, 'Something went wrong'],
  'not-here': [501, 'Not available here'],
  unreadable: [500, 'What is stored cannot be read'],
  'newer-schema': [500, 'The data was written by a newer version'],
  unavailable: [503, 'The storage does not answer at the moment'],
} as const satisfies Record<string, readonly [number, string]>

export type ProblemKind = keyof typeof KINDS

type More = Pick<Problem, 'errors' | 'reason' | 'holder' | 'run' | 'requestId' | 'retryAfterMs'>

/** What a request says is repeated in problems, so these are cut: an answer to nonsense must be deliverable, too. */
const MOST_ERRORS = 100
const MOST_DETAIL_CHARACTERS = 4_000
const MOST_PATH_CHARACTERS = 500

export function problem(kind: ProblemKind, detail: string, { errors, ...more }: More = {}): Problem {
  const [status, title] = KINDS[kind]
  return {
    type: `urn:baton:problem:${kind}`,
    title,
    status,
    detail: cut(detail, MOST_DETAIL_CHARACTERS),
    ...(errors && { errors: errors.slice(0, MOST_ERRORS).map(shortProblem) }),
    ...more,
  }
}

function shortProblem({ path, message }: FieldProblem): FieldProblem {
  return { path: cut(path, MOST_PATH_CHARACTERS), message: cut(message, MOST_DETAIL_CHARACTERS) }
}

/** Invalid input: the detail names the first field, `errors` all of them. */
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

/** A thrown error as a problem. Of those that nobody meant to throw nothing is told but where to look. */
export function problemOfError(error: unknown, requestId: string): Problem {
  const kind = error instanceof BatonError ? KIND_OF_CODE[error.code] : 'internal'
  if (kind === 'internal') {
    return problem(kind, `unexpected; the log has more under request ${requestId}`, { requestId })
  }
  if (kind === 'unavailable') return problem(kind, 'try again in a moment', { requestId })
  const { message, problems } = error as BatonError
  return problem(kind, message, { requestId, ...(problems.length > 0 && { errors: problems }) })
}
