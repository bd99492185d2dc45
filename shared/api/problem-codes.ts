/**
 * The codes of the API's problems. A problem's `type` is `urn:baton:problem:` and its code. The list is closed: a program may decide by it,
 * and a code does not change its meaning.
 */
export const API_PROBLEM_CODES = [
  'invalid',
  'not-found',
  'unknown-type',
  'method-not-allowed',
  'conflict',
  'stale-revision',
  'too-large',
  'unsupported-media-type',
  'too-many-waiting',
  'internal',
  'not-here',
  'unreadable',
  'newer-schema',
  'unavailable',
] as const

export type ApiProblemCode = (typeof API_PROBLEM_CODES)[number]
