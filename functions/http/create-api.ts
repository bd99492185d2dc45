import type { Context } from 'hono'
// Baton finds its routes itself. This preset leaves out the routers that it does not use.
import { Hono } from 'hono/tiny'
import { SEGMENT_RULE } from '../../shared/api/paths.ts'
import type { Problem } from '../../shared/api/problems.ts'
import { strict } from '../../shared/api/scalars.ts'
import { invalid, problem, problemOfError } from '../../shared/present/problems.ts'
import { type ClaimPace, DEFAULT_PACE } from '../../shared/runtime/claim/wait-for-work.ts'
import type { DiagnosticSystem } from '../../shared/runtime/kernel/system.ts'
import { cachedLimitReader } from '../../shared/runtime/limits/limit-usage.ts'
import { cachedTypeReader } from '../../shared/runtime/types/type-cache.ts'
import { createHttpWorkers } from '../../shared/runtime/worker/announce-http-workers.ts'
import { cachedLiveWorkers } from '../../shared/runtime/worker/worker.ts'
import { check } from './check.ts'
import { type Found, routeFinder } from './find-route.ts'
import { fittedAnswer } from './fit-answer.ts'
import { principalOf, type RequestContext } from './operator.ts'
import { readBody } from './read-body.ts'
import { type Answer, type Api, answerProblem, type Call, type Route } from './route.ts'

/** `requestContext` comes from API Gateway. Its request id also stands in the access log. */
type Environment = {
  Variables: { requestId: string }
  Bindings: {
    requestContext?: RequestContext
    event?: {
      rawPath: string
      rawQueryString: string
      requestContext?: { http: { method: string } }
    }
  }
}

type ApiSettings = {
  /** How long claims wait, and how many of them. @default `DEFAULT_PACE` */
  readonly claimPace?: ClaimPace
  /** The version of this package, which `GET /healthz` answers. @default 'unknown' */
  readonly version?: string
  /** The base path of a custom domain, such as `/tasks`, under which API Gateway leaves the paths of its requests. @default none */
  readonly basePath?: string | undefined
}

/**
 * Makes the HTTP API: a Hono application that serves the given routes.
 *
 * A request goes through these files: `find-route.ts` finds its route (`route.ts`), `read-body.ts` reads the body,
 * `check.ts` checks query and body against the route's schemas. The handler in `routes/` builds a use case's request
 * (`requests/` here and in `shared/`), calls the use case and shows its result or its refusal (`shared/present/`).
 * `fit-answer.ts` keeps the answer below Lambda's limit. `description.ts` reads the OpenAPI document of the same routes.
 */
export function createApi(
  system: DiagnosticSystem,
  routes: readonly Route[],
  { claimPace = DEFAULT_PACE, version = 'unknown', basePath = '' }: ApiSettings = {},
): Hono<Environment> {
  const api: Api = {
    system,
    typeOf: cachedTypeReader(system),
    liveWorkers: cachedLiveWorkers(system),
    limitHolding: cachedLimitReader(system),
    httpWorkers: createHttpWorkers(system),
    claimPace,
    version,
  }
  const find = routeFinder(routes)
  const app = new Hono<Environment>()
  app.use(async (context, next) => {
    const requestId = context.env?.requestContext?.requestId ?? system.chance.ulid(system.clock.now())
    context.set('requestId', requestId)
    await next()
    context.res.headers.set('x-request-id', requestId)
  })
  app.all('*', async context => {
    const target = targetOf(context, basePath)
    const found = find(target.method, target.path)
    if (!found.ok) return respond(answerUnserved(target, found))
    if (target.isRead && context.req.raw.body) return respond(answerProblem(unexpectedBody(target.method)))
    return respond(await serve(api, found, target.query, context))
  })
  app.onError((error, context) => {
    const requestId = context.get('requestId')
    const shown = problemOfError(error, requestId)
    const log = shown.status === 500 ? system.log.error : system.log.warn
    log('a request failed', { error, requestId, path: targetOf(context, basePath).path })
    return respond(answerProblem(shown))
  })
  return app
}

type Target = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** GET and HEAD, whose requests have no body. */
  readonly isRead: boolean
}

/**
 * Returns the method, path and query of a request. The event holds the path as API Gateway has decoded it. A URL parser would
 * change a `#`, `..`, `\` or `%41` in it. Without an event, the URL's path is decoded in the same way.
 */
function targetOf({ env, req }: Context<Environment>, basePath: string): Target {
  const event = env?.event
  const method = event?.requestContext?.http.method ?? req.method
  const isRead = method === 'GET' || method === 'HEAD'
  if (event) {
    const { rawPath } = event
    const path = rawPath.startsWith(`${basePath}/`) ? rawPath.slice(basePath.length) : rawPath
    return { method, isRead, path, query: new URLSearchParams(event.rawQueryString) }
  }
  const { pathname, searchParams } = new URL(req.url)
  return { method, isRead, path: decoded(pathname), query: searchParams }
}

function unexpectedBody(method: string): Problem {
  const message = `a ${method} takes no body; put filters into the query`
  return invalid([{ path: '', message }])
}

/** Decodes a path. A path that is not correctly percent-encoded stays as it is, and matches no resource. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function answerUnserved({ method, path }: Target, found: Extract<Found, { ok: false }>): Answer {
  switch (found.reason) {
    case 'unknown-path': {
      const detail = `there is no path ${path}; GET /v1/openapi.json lists all paths`
      return answerProblem(problem('not-found', detail))
    }
    case 'unknown-method': {
      const allow = found.allowed.join(', ')
      const detail = `this resource does not support ${method}; use ${allow}`
      return answerProblem(problem('method-not-allowed', detail), { allow })
    }
    case 'not-an-id':
      return answerProblem(invalid([{ path: found.parameter, message: `in the path ${SEGMENT_RULE}` }]))
  }
}

async function serve(
  api: Api,
  { route, params }: Extract<Found, { ok: true }>,
  search: URLSearchParams,
  context: Context<Environment>,
): Promise<Answer> {
  const { raw } = context.req
  const query = checkedQuery(route, search)
  if (!query.ok) return answerProblem(invalid(query.problems))
  const body = await checkedBody(route, raw)
  if (!body.ok) return body.answer
  const principal = principalOf(context.env?.requestContext)
  const call: Call<unknown, unknown> = {
    ...api,
    ...(route.recordedAs && {
      system: { ...api.system, operator: { by: principal, what: route.recordedAs } },
    }),
    principal,
    params,
    query: query.value,
    body: body.value,
    headers: raw.headers,
    requestId: context.get('requestId'),
  }
  return fittedAnswer(await route.handle(call), limit =>
    route.handle({ ...call, query: { ...Object(query.value), limit } }),
  )
}

/** The query schema of routes that take no parameters. It refuses every parameter as a mistake of the caller. */
const NO_QUERY = strict({})

/** Checks the query. Only the schema sees a repeated parameter as a list, so the paths of problems have no index. */
function checkedQuery({ query = NO_QUERY }: Route, search: URLSearchParams) {
  const checked = check(query, readQuery(search))
  if (checked.ok) return checked
  const problems = checked.problems.map(one => ({ ...one, path: one.path.replace(/\.\d+$/, '') }))
  return { ok: false as const, problems }
}

type CheckedBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly answer: Answer }

/** Reads and checks the body. Even a body that the route ignores must be JSON, since any web page may post other types. */
async function checkedBody(route: Route, request: Request): Promise<CheckedBody> {
  const read = await readBody(request)
  if (!read.ok) return { ok: false, answer: answerProblem(read.problem) }
  if (!route.body && !route.handlerChecksBody) return { ok: true, value: undefined }
  const value = read.value === undefined && route.isBodyOptional ? {} : read.value
  if (!route.body) return { ok: true, value }
  const checked = check(route.body, value)
  return checked.ok ? checked : { ok: false, answer: answerProblem(invalid(checked.problems)) }
}

function respond({ status, body, headers = {} }: Answer): Response {
  if (body === undefined) return new Response(null, { status, headers: { ...headers } })
  return Response.json(body, { status, headers: { ...headers } })
}

/** Query parameters that may be repeated. */
const LIST_PARAMETERS = ['status', 'tag', 'type']
/** Query parameters that are numbers. All others are texts. */
const NUMBER_PARAMETERS = ['limit', 'ifRevision', 'atMost', 'minutes']

/** Returns the query as an object. If a caller repeats a single parameter, it becomes a list, and the schema refuses the list. */
function readQuery(search: URLSearchParams): Record<string, unknown> {
  const names = [...new Set(search.keys())]
  return Object.fromEntries(names.map(name => [name, parameterValue(name, search.getAll(name))]))
}

function parameterValue(name: string, values: readonly string[]): unknown {
  if (LIST_PARAMETERS.includes(name)) return values
  const [first = ''] = values
  if (values.length > 1) return values
  return NUMBER_PARAMETERS.includes(name) && /^-?\d{1,16}$/.test(first) ? Number(first) : first
}
