import { ENDPOINTS, type Endpoint, type OperationName } from '../api/endpoints.ts'
import type { ApiProblemCode } from '../api/problem-codes.ts'
import type { Problem } from '../api/problems.ts'
import type { Page, PageQuery } from '../api/scalars.ts'
import type { Rule, ValueOf } from '../core/rules/rules.ts'
import { type FieldProblem, jsonProblem } from '../core/values/values.ts'
import type { ClaimPace } from '../runtime/claim/wait-for-work.ts'
import type { System } from '../runtime/kernel/system.ts'
import type { StatusReaders } from '../runtime/read/served.ts'
import type { HttpWorkers } from '../runtime/worker/announce-http-workers.ts'
import { invalid } from './present/problems.ts'

/** The system and the caches that every operation works with. */
export type Parts<On = System> = StatusReaders & {
  readonly system: On
  readonly httpWorkers: HttpWorkers
  readonly claimPace: ClaimPace
  /** The version of this package. */
  readonly version: string
  /** Reads the OpenAPI document of the API. */
  readonly description: () => Promise<unknown>
}

/** A request whose query and body fit the rules of its operation, with the parts that serve it. */
export type Call<Query = unknown, Body = unknown, On = System> = Parts<On> & {
  /** The ids in the path, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** The caller's trace, if it is well formed. */
  readonly traceparent: string | undefined
  readonly requestId: string
  /** The caller: the ARN of an IAM principal, the subject of a token, or `anonymous`. Undefined: changes record no caller. */
  readonly principal: string | undefined
}

export type Answer = {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The groups of operations, in the order of the reference. */
export const TAGS = {
  Tasks: 'Publishing, reading and changing tasks.',
  Bulk: 'One action on many tasks, as a job on the server.',
  Work: 'Claiming tasks, and reporting about their runs: for workers that speak HTTP.',
  Types: 'Task types: their configuration, their pause, their counts.',
  Canvases: 'Chains, groups and chords of tasks.',
  Schedules: 'Tasks that are published again and again.',
  Observing: 'Workers, failures and events.',
  Service: 'The API itself.',
} as const

/** A successful answer, as the OpenAPI document describes it. */
export type DescribedAnswer = {
  readonly description: string
  readonly schema?: Rule
  /** The content type of an answer that is not JSON. */
  readonly contentType?: string
  /** What the header `Location` names. */
  readonly location?: string
}

/**
 * An operation of the API: what a request must be, what serves it, what it answers and costs. The HTTP API, the testing kit and the table
 * client serve it, and the OpenAPI document describes it.
 */
export type Operation<On = never> = {
  readonly name: OperationName
  readonly method: Endpoint[0]
  /** The path in OpenAPI's notation: `/v1/tasks/{id}`. */
  readonly path: Endpoint[1]
  readonly tag: keyof typeof TAGS
  /** One line without a full stop. */
  readonly summary: string
  /** Whole sentences: what the operation does beyond its summary. */
  readonly description?: string
  /** What a call costs in DynamoDB's units, where `docs/` states it. */
  readonly cost?: string
  /** The name under which the changed task, type or schedule records the operation and its caller. */
  readonly recordedAs?: string
  /** Whether `GET /v1/attention` shows the calls of the operation, with their callers. */
  readonly isAttending?: boolean
  /** @default no parameters */
  readonly query?: Rule
  /** @default no body */
  readonly body?: Rule
  /** Whether a request without a body counts as `{}`. */
  readonly isBodyOptional?: boolean
  /** Whether `handle` gets the body as it was sent, and checks it itself. */
  readonly checksBody?: boolean
  /** The successful answers by status. */
  readonly answers: Readonly<Record<number, DescribedAnswer>>
  /** The problems of this operation, in addition to those that every operation has. */
  readonly problems?: readonly ApiProblemCode[]
  // biome-ignore lint/suspicious/noExplicitAny: `operationOf` has compared the types of the call with the rules
  handle(call: Call<any, any, On>): Promise<Answer>
}

type Definition<On, Query, Body, Checks> = Omit<
  Operation<On>,
  'method' | 'path' | 'tag' | 'query' | 'body' | 'checksBody' | 'handle'
> & {
  readonly query?: Query
  readonly body?: Body
  readonly checksBody?: Checks
  handle(call: Call<Given<Query>, Checks extends true ? unknown : Given<Body>, On>): Promise<Answer>
}

type Given<Of> = [Of] extends [Rule] ? ValueOf<Of> : unknown

/** Defines the operations of a group. The `handle` of each gets the query and the body with the types of their rules. */
export function operationOf(tag: keyof typeof TAGS) {
  return <
    On = System,
    Query extends Rule | undefined = undefined,
    Body extends Rule | undefined = undefined,
    Checks extends boolean = false,
  >(
    definition: Definition<On, Query, Body, Checks>,
  ): Operation<On> => {
    const [method, path] = ENDPOINTS[definition.name]
    return { ...definition, tag, method, path } as unknown as Operation<On>
  }
}

/** The system whose changes record this caller, if there is one. */
export function recording<On extends System>(system: On, by: string | undefined, what: string): On {
  return by === undefined ? system : { ...system, operator: { by, what } }
}

export function answerProblem(problem: Problem, headers: Readonly<Record<string, string>> = {}): Answer {
  const retry = problem.status === 503 ? { 'retry-after': '1' } : {}
  return {
    status: problem.status,
    body: problem,
    headers: { 'content-type': 'application/problem+json', ...retry, ...headers },
  }
}

export function answerInvalid(path: string, message: string): Answer {
  return answerProblem(invalid([{ path, message }]))
}

export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/**
 * Checks a value against a rule. It first refuses values that JSON text can express but the store cannot keep exactly,
 * such as a number that would lose digits. Paths of problems are dotted and begin with `at`.
 */
export function check<Of extends Rule>(rule: Of, value: unknown, at = ''): Checked<ValueOf<Of>> {
  const unstorable = jsonProblem(value, at)
  return unstorable ? { ok: false, problems: [unstorable] } : checkRule(rule, value, at)
}

/** Checks a value against a rule only, for values whose members `check` checks one by one. */
export function checkRule<Of extends Rule>(rule: Of, value: unknown, at = ''): Checked<ValueOf<Of>> {
  const problems = rule.problems(value, at)
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: value as ValueOf<Of> }
}

/** How many items a page has, unless its query says so. */
export const PAGE_ITEMS_DEFAULT = 20

/**
 * Cuts one page out of a list that is short enough to be read as a whole. The cursor is the last name of the page before. Undefined
 * for a cursor that is none.
 */
export function pageByName<Item>(
  all: readonly Item[],
  { limit = PAGE_ITEMS_DEFAULT, cursor }: PageQuery,
  nameOf: (item: Item) => string,
  isName: (text: string) => boolean,
): Page<Item> | undefined {
  const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString()
  if (cursor !== undefined && !isName(after)) return undefined
  const rest = all.filter(item => nameOf(item) > after).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const items = rest.slice(0, limit)
  const last = rest.length > limit ? items.at(-1) : undefined
  return {
    items,
    ...(last !== undefined && { nextCursor: Buffer.from(nameOf(last)).toString('base64url') }),
  }
}

/** Refuses a cursor for which `pageByName` has no page. */
export function refuseCursor(): Answer {
  return answerInvalid('cursor', 'is not a cursor: pass nextCursor unchanged')
}
