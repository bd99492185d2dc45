import type * as z from 'zod'
import type { Problem } from '../../shared/api/problems.ts'
import type { ClaimPace } from '../../shared/runtime/claim/wait-for-work.ts'
import type { System } from '../../shared/runtime/kernel/system.ts'
import type { StatusReaders } from '../../shared/runtime/read/describe-task.ts'
import type { HttpWorkers } from '../../shared/runtime/worker/announce-http-workers.ts'

/** What every route works with. */
export type Api = StatusReaders & {
  readonly system: System
  readonly httpWorkers: HttpWorkers
  readonly claimPace: ClaimPace
}

export type Answer = {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A request whose query and body have passed their schemas. */
export type Call<Query, Body> = Api & {
  /** Parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  readonly headers: Headers
  readonly requestId: string
  /** Who asks: an IAM principal, the subject of a token, or the local user. */
  readonly principal: string
}

type Documented = { readonly description: string; readonly schema?: z.ZodType }

/** One route: the data from which it is served, refused and documented. */
export type Route = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As OpenAPI writes it: `/v1/tasks/{id}`. */
  readonly path: string
  readonly operation: string
  readonly summary: string
  /** What it does is noted under this word where it is done, with who asked for it. */
  readonly recordedAs?: string
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  /** A request without a body counts as `{}`. */
  readonly isBodyOptional?: boolean
  /** The form of a body that the route checks itself. */
  readonly documentedBody?: z.ZodType
  /** Answers that are no problems, by status. */
  readonly answers: Readonly<Record<number, Documented>>
  /** Problems it may answer, beside 400, 405, 500 and 503. */
  readonly problems?: ReadonlyArray<404 | 409 | 413 | 429 | 501>
  // biome-ignore lint/suspicious/noExplicitAny: each route's own types were held against its schemas by `route`
  handle(call: Call<any, any>): Promise<Answer>
}

type Inferred<Schema> = Schema extends z.ZodType ? z.infer<Schema> : unknown

/** A route whose handler gets what its schemas let through. */
export function route<Query extends z.ZodType | undefined, Body extends z.ZodType | undefined>(
  definition: Omit<Route, 'query' | 'body' | 'handle'> & {
    readonly query?: Query
    readonly body?: Body
    handle(call: Call<Inferred<Query>, Inferred<Body>>): Promise<Answer>
  },
): Route {
  return definition as Route
}

export function answerProblem(problem: Problem, headers: Readonly<Record<string, string>> = {}): Answer {
  const retry = problem.status === 503 ? { 'retry-after': '1' } : {}
  return {
    status: problem.status,
    body: problem,
    headers: { 'content-type': 'application/problem+json', ...retry, ...headers },
  }
}
