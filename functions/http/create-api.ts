import { type Context, Hono } from 'hono'
import { httpWorkers } from '../../shared/runtime/announce-http-workers.ts'
import { cachedAllowance } from '../../shared/runtime/control/allows-start.ts'
import { cachedLiveWorkers } from '../../shared/runtime/live-workers.ts'
import type { System } from '../../shared/runtime/system.ts'
import { cachedTypes } from '../../shared/runtime/type-cache.ts'
import { type ClaimPace, DEFAULT_PACE } from '../../shared/runtime/wait-for-work.ts'
import { check } from './check.ts'
import { routeFinder } from './find-route.ts'
import { invalid, problem, problemOfError } from './problems.ts'
import { readBody } from './read-body.ts'
import { readQuery } from './read-query.ts'
import { type Answer, type Api, answerProblem, type Call, type Route } from './route.ts'

/** `requestContext` is Lambda's: its request id is the one in the function's own log lines. */
type Environment = {
  Variables: { requestId: string }
  Bindings: { requestContext?: { requestId?: string } }
}

/** The HTTP API as a Hono application, served from a table of routes: all of them, or those of one function. */
export function createApi(
  system: System,
  routes: readonly Route[],
  claimPace: ClaimPace = DEFAULT_PACE,
): Hono<Environment> {
  const api: Api = {
    system,
    typeOf: cachedTypes(system),
    liveWorkers: cachedLiveWorkers(system),
    allowsStart: cachedAllowance(system),
    httpWorkers: httpWorkers(system),
    claimPace,
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
    const { pathname } = new URL(context.req.url)
    const found = find(context.req.method, pathname)
    if (found.ok) return respond(await serve(api, found.route, found.params, context))
    return respond(answerUnserved(context.req.method, pathname, found.allowed))
  })
  app.onError((error, context) => {
    const requestId = context.get('requestId')
    const told = problemOfError(error, requestId)
    const log = told.status === 500 ? system.log.error : system.log.warn
    log('a request failed', { error, requestId, path: context.req.path })
    return respond(answerProblem(told))
  })
  return app
}

function answerUnserved(method: string, path: string, allowed: readonly string[]): Answer {
  if (allowed.length === 0) {
    const detail = `there is no ${path}; GET /v1/openapi.json lists what there is`
    return answerProblem(problem('not-found', detail))
  }
  const allow = [...new Set(allowed)].join(', ')
  const detail = `${method} is not for this resource; it knows ${allow}`
  return answerProblem(problem('method-not-allowed', detail), { allow })
}

async function serve(
  api: Api,
  route: Route,
  params: Readonly<Record<string, string>>,
  context: Context<Environment>,
): Promise<Answer> {
  const { raw, url } = context.req
  const query = checkedQuery(route, new URL(url).searchParams)
  if (!query.ok) return answerProblem(invalid(query.problems))
  const body = await checkedBody(route, raw)
  if (!body.ok) return body.answer
  const call: Call<unknown, unknown> = {
    ...api,
    params,
    query: query.value,
    body: body.value,
    headers: raw.headers,
    requestId: context.get('requestId'),
  }
  return route.handle(call)
}

function checkedQuery({ query }: Route, search: URLSearchParams) {
  return query ? check(query, readQuery(search)) : { ok: true as const, value: {} }
}

type CheckedBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly answer: Answer }

async function checkedBody(route: Route, request: Request): Promise<CheckedBody> {
  if (!route.body && !route.documentedBody) return { ok: true, value: undefined }
  const read = await readBody(request)
  if (!read.ok) return { ok: false, answer: answerProblem(read.problem) }
  const value = read.value === undefined && route.isBodyOptional ? {} : read.value
  if (!route.body) return { ok: true, value }
  const checked = check(route.body, value)
  return checked.ok ? checked : { ok: false, answer: answerProblem(invalid(checked.problems)) }
}

function respond({ status, body, headers = {} }: Answer): Response {
  if (body === undefined) return new Response(null, { status, headers: { ...headers } })
  return Response.json(body, { status, headers: { ...headers } })
}
