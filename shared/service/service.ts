import { idOf, SEGMENT_RULE } from '../api/paths.ts'
import type { Problem } from '../api/problems.ts'
import { strict } from '../core/rules/compound.ts'
import { isTraceparent } from '../core/rules/scalars.ts'
import { defined, groupBy } from '../core/values/values.ts'
import { DEFAULT_PACE } from '../runtime/claim/wait-for-work.ts'
import type { System } from '../runtime/kernel/system.ts'
import { cachedLimitReader } from '../runtime/limits/limit-usage.ts'
import { recordAction } from '../runtime/operate/attention.ts'
import { cachedTypeReader } from '../runtime/types/type-cache.ts'
import { createHttpWorkers } from '../runtime/worker/announce-http-workers.ts'
import { cachedLiveWorkers } from '../runtime/worker/worker.ts'
import { fittedAnswer } from './fit-answer.ts'
import type { Answer, Call, Operation, Parts } from './operation.ts'
import { answerProblem, check, recording } from './operation.ts'
import { invalid, problem, problemOfError } from './present/problems.ts'

type ServiceRequest = {
  readonly method: string
  /** The path, decoded as API Gateway does it. */
  readonly path: string
  readonly query: URLSearchParams
  /** Reads the body; undefined when the request has none. */
  readonly readBody: () => Promise<ReadBody>
  readonly hasBody: boolean
  /** The header `traceparent`, well formed or not. */
  readonly traceparent?: string | undefined
  readonly requestId: string
  /** The caller, as changes record it. @default changes record none */
  readonly principal?: string | undefined
}

export type ReadBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: Problem }

export type Service = (request: ServiceRequest) => Promise<Answer>

/**
 * Makes a service of the given operations on a system. The HTTP API, the testing kit and the table client call it, so they accept, refuse
 * and answer alike.
 *
 * A request goes through these files: this one finds its operation, and checks query and body against the operation's rules. The operation
 * (`operations/`) builds a use case's request (`requests/`), calls the use case and shows its result or its refusal (`present/`).
 * `fit-answer.ts` keeps the answer below the size that Lambda delivers. `operation.ts` says what an operation is.
 */
export function createService<On extends System>(
  system: On,
  operations: readonly Operation<On>[],
  given: ServiceSettings<On> = {},
): Service {
  const serve = createServing(system, operations, given)
  return request =>
    serve(request).catch(error => {
      const { requestId, path } = request
      const shown = problemOfError(error, requestId)
      const log = shown.status === 500 ? system.log.error : system.log.warn
      log('a request failed', { error, requestId, path })
      return answerProblem(shown)
    })
}

type ServiceSettings<On> = Partial<Omit<Parts<On>, 'system'>> & {
  /** Whether answers are shortened to the size that Lambda delivers. @default true */
  readonly isFitted?: boolean
}

/** Makes a service that throws the errors of its system, where `createService` answers them. */
export function createServing<On extends System>(
  system: On,
  operations: readonly Operation<On>[],
  { isFitted = true, ...given }: ServiceSettings<On> = {},
): Service {
  const parts: Parts<On> = {
    typeOf: cachedTypeReader(system),
    liveWorkers: cachedLiveWorkers(system),
    limitHolding: cachedLimitReader(system),
    httpWorkers: createHttpWorkers(system),
    claimPace: DEFAULT_PACE,
    version: 'unknown',
    description: async () => ({}),
    ...given,
    system,
  }
  const find = operationFinder(operations)
  return async request => {
    const found = find(request.method, request.path)
    if (!found.ok) return answerUnserved(request, found)
    if (['GET', 'HEAD'].includes(request.method) && request.hasBody)
      return answerProblem(unexpectedBody(request.method))
    return serve(parts, found, request, isFitted)
  }
}

function unexpectedBody(method: string): Problem {
  const message = `a ${method} takes no body; put filters into the query`
  return invalid([{ path: '', message }])
}

function answerUnserved<On>(
  { method, path }: ServiceRequest,
  found: Extract<Found<On>, { ok: false }>,
): Answer {
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

async function serve<On extends System>(
  parts: Parts<On>,
  { operation, params }: Extract<Found<On>, { ok: true }>,
  request: ServiceRequest,
  isFitted: boolean,
): Promise<Answer> {
  const query = checkedQuery(operation, request.query)
  if (!query.ok) return answerProblem(invalid(query.problems))
  const body = await checkedBody(operation, request)
  if (!body.ok) return answerProblem(body.problem)
  const { principal, requestId, traceparent } = request
  const { system } = parts
  const call: Call<unknown, unknown, On> = {
    ...parts,
    system: operation.recordedAs === undefined ? system : recording(system, principal, operation.recordedAs),
    ...{ principal, params, requestId },
    query: query.value,
    body: body.value,
    traceparent: traceparent !== undefined && isTraceparent(traceparent) ? traceparent : undefined,
  }
  const answer = await operation.handle(call)
  if (operation.isAttending && principal !== undefined && answer.status < 300)
    await recordAction(system, { by: principal, ...actionOf(operation, call) })
  if (!isFitted) return answer
  return fittedAnswer(answer, limit =>
    operation.handle({ ...call, query: { ...Object(query.value), limit } }),
  )
}

/** What a caller did, and to what, as `GET /v1/attention` shows it. */
function actionOf({ name }: Pick<Operation, 'name'>, { params, body }: Pick<Call, 'params' | 'body'>) {
  const { action = name, type, queue } = Object(body) as Readonly<Record<string, string | undefined>>
  const subject = params.id ?? params.name ?? params.type ?? type ?? queue
  return { what: name === 'startBulk' ? `bulk ${action}` : action, ...defined({ subject }) }
}

/** The query of operations that take no parameters. It refuses every parameter as a mistake of the caller. */
const NO_QUERY = strict({})

/** Checks the query. Only the rule sees a repeated parameter as a list, so the paths of problems have no index. */
function checkedQuery({ query = NO_QUERY }: Pick<Operation, 'query'>, search: URLSearchParams) {
  const checked = check(query, readQuery(search))
  if (checked.ok) return checked
  const problems = checked.problems.map(one => ({ ...one, path: one.path.replace(/\.\d+$/, '') }))
  return { ok: false as const, problems }
}

/** Reads and checks the body. Even a body that the operation ignores is read, since any web page may post other types than JSON. */
async function checkedBody<On>(operation: Operation<On>, request: ServiceRequest): Promise<ReadBody> {
  const read = await request.readBody()
  if (!read.ok) return read
  if (!operation.body) return { ok: true, value: undefined }
  const value = read.value === undefined && operation.isBodyOptional ? {} : read.value
  if (operation.checksBody) return { ok: true, value }
  const checked = check(operation.body, value)
  return checked.ok ? checked : { ok: false, problem: invalid(checked.problems) }
}

/** Query parameters that may be repeated. */
const LIST_PARAMETERS = ['status', 'tag', 'type']
/** Query parameters that are numbers. All others are texts. */
const NUMBER_PARAMETERS = ['limit', 'ifRevision', 'atMost', 'minutes', 'waiting']

/** Returns the query as an object. If a caller repeats a single parameter, it becomes a list, and the rule refuses the list. */
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

type Found<On> =
  | {
      readonly ok: true
      readonly operation: Operation<On>
      readonly params: Readonly<Record<string, string>>
    }
  | { readonly ok: false; readonly reason: 'unknown-path' }
  | { readonly ok: false; readonly reason: 'unknown-method'; readonly allowed: readonly string[] }
  /** The path's text for this parameter is not an id. */
  | { readonly ok: false; readonly reason: 'not-an-id'; readonly parameter: string }

/** One path with its operations, one per method. */
type Resource<On> = {
  readonly path: string
  readonly pattern: RegExp
  readonly own: readonly Operation<On>[]
}

/**
 * Makes the function that finds an operation by method and decoded path. Decoding has turned `%2F` into slashes, so a parameter
 * may match several segments. The resource with the most fixed segments wins. The text of a parameter must then be an id.
 */
export function operationFinder<On>(
  operations: readonly Operation<On>[],
): (method: string, path: string) => Found<On> {
  const resources = resourcesOf(operations)
  return (method, path) => {
    const resource = resources.find(({ pattern }) => pattern.test(path))
    if (!resource) return { ok: false, reason: 'unknown-path' }
    const wanted = method === 'HEAD' ? 'get' : method.toLowerCase()
    const operation = resource.own.find(one => one.method === wanted)
    const parsed = paramsIn(resource.pattern.exec(path)?.groups ?? {})
    if (operation) return parsed.ok ? { ok: true, operation, params: parsed.params } : parsed
    const allowed = resource.own.map(one => one.method.toUpperCase())
    return parsed.ok
      ? { ok: false, reason: 'unknown-method', allowed }
      : { ok: false, reason: 'unknown-path' }
  }
}

function resourcesOf<On>(operations: readonly Operation<On>[]): Resource<On>[] {
  const byPath = groupBy(operations, ({ path }) => path as string)
  const resources = [...byPath].map(([path, own]) => ({ path, pattern: patternOf(path), own }))
  return resources.sort((a, b) => fixedSegments(b.path) - fixedSegments(a.path))
}

function fixedSegments(path: string): number {
  return path.split('/').filter(segment => !segment.startsWith('{')).length
}

function patternOf(path: string): RegExp {
  const pattern = path.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>.+)')
  return new RegExp(`^${pattern}$`, 's')
}

type ParsedParams =
  | { readonly ok: true; readonly params: Readonly<Record<string, string>> }
  | Extract<Found<never>, { reason: 'not-an-id' }>

function paramsIn(groups: Readonly<Record<string, string>>): ParsedParams {
  const params: Record<string, string> = {}
  for (const [parameter, segment] of Object.entries(groups)) {
    const id = idOf(segment)
    if (id === undefined) return { ok: false, reason: 'not-an-id', parameter }
    params[parameter] = id
  }
  return { ok: true, params }
}
