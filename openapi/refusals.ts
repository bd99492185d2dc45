import type { ApiProblemCode } from '../shared/api/problem-codes.ts'
import type { Operation } from '../shared/service/operation.ts'
import { PROBLEM_KINDS } from '../shared/service/present/problems.ts'
import { type Examples, typeOf } from './examples/in-document.ts'
import type { Schema } from './schemas.ts'

/** The answers that refuse a request: problem documents of the API, and the answers of API Gateway in front of a deployed one. */

/** What each code means, and what its caller can do. `docs/problems.md` has the same words. */
export const PROBLEM_MEANINGS: Readonly<Record<ApiProblemCode, { means: string; todo: string }>> = {
  invalid: {
    means:
      'A field of the body or of the query, or an id in the path, is not legal. `errors` names each and what is legal.',
    todo: 'Correct the request. A repetition is refused again.',
  },
  'not-found': {
    means: 'The task, run, canvas or schedule does not exist or was removed, or there is no such path.',
    todo: 'Check the id and how the path holds it.',
  },
  'unknown-type': {
    means:
      'The request names a task type that is not registered. `errors` has the place of the name and the nearest types.',
    todo: 'Register the type with `PUT /v1/types/{type}` or deploy its handler.',
  },
  'method-not-allowed': {
    means: 'The path exists, but does not take this method. The header `Allow` lists those that it takes.',
    todo: 'Use one of them.',
  },
  conflict: {
    means:
      'The present state does not allow the change. For a report about a run `reason` says why the run is over.',
    todo: 'Read the present state, and decide again. A worker whose run is over stops its work.',
  },
  'stale-revision': {
    means:
      'The present `revision` is not the one in `ifRevision`: another person has changed it. `detail` names the last change.',
    todo: 'Read it again, then decide.',
  },
  'too-large': {
    means: 'The body, an input, a result, a progress or a log is larger than its bound.',
    todo: 'Send less at a time, or store the data elsewhere and send its address.',
  },
  'unsupported-media-type': {
    means: 'The body does not declare itself as JSON.',
    todo: 'Send `content-type: application/json`, without `content-encoding`.',
  },
  'too-many-waiting': {
    means: 'There is no task to claim, and as many claims wait as may.',
    todo: 'Claim again after `retryAfterMs`, or after the seconds in `Retry-After`.',
  },
  internal: {
    means: 'An unexpected error of the API. The log describes it under `requestId`.',
    todo: 'Repeat what may be repeated; report it with the `requestId`.',
  },
  'not-here': {
    means: 'Where this API runs there is no such operation. `detail` says what takes its place.',
    todo: 'Use that.',
  },
  unreadable: {
    means: 'The stored item is not in a form that Baton writes.',
    todo: 'Remove the task, or restore the item.',
  },
  'newer-schema': {
    means: 'The stored item was written by a newer version of Baton.',
    todo: 'Deploy that version or a later one.',
  },
  unavailable: {
    means: 'The storage does not answer, or refuses because of too many requests. `detail` names the call.',
    todo: 'Repeat what may be repeated, after the seconds in `Retry-After`.',
  },
}

/** The problems that every operation may answer. */
const ALWAYS: readonly ApiProblemCode[] = ['invalid', 'internal', 'unreadable', 'newer-schema', 'unavailable']
/** The problems of every method with a body. */
const WITH_BODY: readonly ApiProblemCode[] = ['too-large', 'unsupported-media-type']

export type Refusals = ReturnType<typeof createRefusals>

type Refusal = {
  readonly status: number
  readonly codes: readonly ApiProblemCode[]
  readonly shown: Record<string, unknown>
}

export function createRefusals(examples: Examples) {
  const refusals = new Map<string, Refusal>()
  return {
    /** The refusals of an operation, by their status, as references to the named ones. */
    refusalsOf: ({ method, name: operation, problems = [] }: Operation): Schema => {
      const codes = [...ALWAYS, ...(method === 'get' ? [] : WITH_BODY), ...problems]
      const ofApi = Map.groupBy(codes, (code): number => PROBLEM_KINDS[code][0])
      const statuses = new Set([...ofApi.keys(), ...Object.keys(GATEWAY_ANSWERS).map(Number)])
      const references = [...statuses].sort().map(status => {
        const own = ofApi.get(status) ?? []
        const name =
          own.length > 0 ? own.map(pascalCase).join('Or') : pascalCase(GATEWAY_ANSWERS[status]?.message ?? '')
        const refusal = refusals.get(name) ?? { status, codes: own, shown: {} }
        refusals.set(name, refusal)
        Object.assign(refusal.shown, examples.ofAnswer(operation, status).examples)
        return [status, { $ref: `#/components/responses/${name}` }]
      })
      return Object.fromEntries(references)
    },
    /** All refusals, by their names. Operations that refuse in the same way share one, which has the examples of them all. */
    responses: (): Record<string, Schema> =>
      Object.fromEntries(
        [...refusals].map(([name, { status, codes, shown }]) => [
          name,
          refusalOf(
            status,
            codes,
            Object.keys(shown).length > 0 ? { examples: shown } : examples.ofProblems(codes),
          ),
        ]),
      ),
  }
}

function pascalCase(text: string): string {
  return text.replaceAll(/(?:^|[- ])(\w)/g, (_all, letter: string) => letter.toUpperCase())
}

function refusalOf(status: number, codes: readonly ApiProblemCode[], examples: Schema): Schema {
  const ofGateway = GATEWAY_ANSWERS[status]
  return {
    description: [...codes.map(sentenceOf), ...(ofGateway ? [ofGateway.description] : [])].join('\n\n'),
    ...(isRetried(status) &&
      codes.length > 0 && { headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } }),
    content: {
      ...(codes.length > 0 && { 'application/problem+json': { schema: problemSchema(codes), ...examples } }),
      ...(status === FORBIDDEN && { 'application/problem+json': { schema: LOCAL_FORBIDDEN } }),
      ...(ofGateway && { 'application/json': { schema: gatewaySchema(ofGateway.message) } }),
    },
  }
}

function isRetried(status: number): boolean {
  return status === 429 || status === 503
}

function sentenceOf(code: ApiProblemCode): string {
  return `\`${typeOf(code)}\`: ${PROBLEM_MEANINGS[code].means}`
}

function problemSchema(codes: readonly ApiProblemCode[]): Schema {
  const type = { enum: codes.map(typeOf) }
  return { allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties: { type } }] }
}

const FORBIDDEN = 403

type GatewayAnswer = { readonly message: string; readonly description: string }

/**
 * What API Gateway answers by itself, before or instead of the function. An HTTP API has one form for these answers, which cannot be
 * changed: `{"message": "…"}`.
 */
const GATEWAY_ANSWERS: Readonly<Record<number, GatewayAnswer>> = {
  401: {
    message: 'Unauthorized',
    description:
      'Only a deployed API whose authorizer checks bearer tokens: API Gateway does not accept the token, or there is none.',
  },
  403: {
    message: 'Forbidden',
    description:
      'Only a deployed API, and the local system with `--auth iam`: the request is not signed, its signature is not valid, or the principal may not call this route. The local system also refuses pages of other origins, by a problem document.',
  },
  413: {
    message: 'Request Entity Too Large',
    description:
      'API Gateway itself refuses a request that is larger than 10 MB, or whose event is too large for Lambda.',
  },
  429: {
    message: 'Too Many Requests',
    description: 'Only a deployed API: API Gateway throttles the requests of the stage or of the account.',
  },
  431: {
    message: 'Request Header Fields Too Large',
    description:
      'The request line and the headers are longer than API Gateway takes: 10,240 bytes in all. The local system takes 16 KB.',
  },
  500: {
    message: 'Internal Server Error',
    description: 'API Gateway itself answers so when the function ends without an answer.',
  },
  503: {
    message: 'Service Unavailable',
    description:
      'API Gateway itself answers so when the function takes longer than 30 seconds, or has no free execution.',
  },
}

/** The local system answers in place of API Gateway with a problem document, so that its refusals say why. */
const LOCAL_FORBIDDEN = {
  allOf: [{ $ref: '#/components/schemas/Problem' }],
  properties: { type: { enum: ['urn:baton:problem:forbidden'] } },
}

function gatewaySchema(message: string): Schema {
  return {
    allOf: [{ $ref: '#/components/schemas/GatewayRefusal' }],
    examples: [{ message }],
  }
}
