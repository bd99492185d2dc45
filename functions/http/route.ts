import type * as z from 'zod'
import type { Problem } from '../../shared/api/problems.ts'
import type { ClaimPace } from '../../shared/runtime/claim/wait-for-work.ts'
import type { DiagnosticSystem } from '../../shared/runtime/kernel/system.ts'
import type { StatusReaders } from '../../shared/runtime/read/describe-task.ts'
import type { HttpWorkers } from '../../shared/runtime/worker/announce-http-workers.ts'

/** The system and the caches that every route works with. */
export type Api = StatusReaders & {
  readonly system: DiagnosticSystem
  readonly httpWorkers: HttpWorkers
  readonly claimPace: ClaimPace
  /** The version of this package. */
  readonly version: string
}

export type Answer = {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A request whose query and body have passed their schemas. */
export type Call<Query, Body> = Api & {
  /** The decoded parameters of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  readonly headers: Headers
  readonly requestId: string
  /** The caller: the ARN of an IAM principal, the subject of a token, or `anonymous`. */
  readonly principal: string
}

/** One route: the data that says how requests are served and refused. `scripts/openapi` describes each by its operation. */
export type Route = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** The path in OpenAPI's notation: `/v1/tasks/{id}`. */
  readonly path: string
  /** Its name in the OpenAPI document. Generated clients name their functions after it, so it does not change. */
  readonly operation: string
  /** The name under which the changed task, type or schedule records the operation and its caller. */
  readonly recordedAs?: string
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  /** Whether a request without a body counts as `{}`. */
  readonly isBodyOptional?: boolean
  /** Whether the handler gets the body as it was sent, and checks it itself. */
  readonly handlerChecksBody?: boolean
  // biome-ignore lint/suspicious/noExplicitAny: `route` has compared each handler's types with its schemas
  handle(call: Call<any, any>): Promise<Answer>
}

type Inferred<Schema> = Schema extends z.ZodType ? z.infer<Schema> : unknown

/** Defines a route. Its handler gets the query and the body as its schemas have parsed them. */
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
