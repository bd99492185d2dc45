import type { IncomingMessage } from 'node:http'
import type { HttpAnswer } from '../../loopback/loopback.ts'
import type { Template } from '../template/intrinsics.ts'
import type { Stack } from '../template/stack.ts'
import type { Route } from './event.ts'

/** Answers a request. */
export type Serve = (request: IncomingMessage, body: Buffer) => Promise<HttpAnswer>

/** The routes of an HTTP API. */
export type Routes = {
  readonly apiId: string
  readonly routes: readonly Route[]
  /** Set for an API that is not Baton's own: each route says whether it is open, and its CORS settings hold. */
  readonly own?: { readonly cors: Cors | undefined }
}

type Cors = Readonly<Record<string, unknown>>

const API = 'AWS::ApiGatewayV2::Api'
const ROUTE = 'AWS::ApiGatewayV2::Route'

/** The API of the task system, by its description. The first one stands for it in a stack without a task system. */
export function systemApiOf(resources: Template['Resources']) {
  const apis = Object.entries(resources).filter(([, { Type }]) => Type === API)
  const [system] = apis.find(([, one]) => one.Properties?.Description === 'Baton: HTTP API') ?? apis[0] ?? []
  return { system, own: apis.map(([id]) => id).filter(id => id !== system) }
}

/** Reads the routes of the task system's API. Throws when one of them has no target in the stack. */
export function readRoutes(stack: Stack, api: string | undefined): Routes {
  const apiId = api === undefined ? 'local' : stack.describe(api).physicalId
  return { apiId, routes: routeIdsOf(stack, apiId).map(id => readRoute(stack, id)) }
}

/** Reads another API of the stack. `report` receives what of it does not run here. */
export function readOwnRoutes(
  stack: Stack,
  api: string,
  report: (logicalId: string, reason: string) => void,
): Routes {
  const apiId = stack.describe(api).physicalId
  const { CorsConfiguration: cors, Body, ProtocolType } = stack.properties(api)
  if (Body !== undefined) report(api, 'its routes in an OpenAPI document are not read; give it routes')
  if (ProtocolType !== 'HTTP') {
    report(api, `an API of the protocol ${ProtocolType} does not run here`)
    return { apiId, routes: [] }
  }
  for (const id of stack.ids('AWS::ApiGatewayV2::Stage')) {
    const { ApiId, StageName } = stack.properties(id)
    if (ApiId === apiId && StageName !== '$default') report(id, 'only the stage $default is served here')
  }
  const routes = routeIdsOf(stack, apiId).map(id => {
    const problem = problemOf(stack, id)
    if (problem === undefined) return readRoute(stack, id)
    report(id, `${problem}; its requests are refused`)
    return { key: String(stack.read(id, 'RouteKey')), functionArn: '', problem }
  })
  return { apiId, routes, own: { cors: cors as Cors | undefined } }
}

function routeIdsOf(stack: Stack, apiId: string): string[] {
  return stack.ids(ROUTE).filter(id => stack.read(id, 'ApiId') === apiId)
}

function readRoute(stack: Stack, logicalId: string): Route {
  const { RouteKey, Target, AuthorizationType } = stack.properties(logicalId)
  const integration = integrationOf(stack, logicalId)
  if (!integration) throw new Error(`Route ${RouteKey} targets ${Target}, which is not in the stack`)
  // A Lambda integration names the function, or the invocation path that contains its ARN.
  const uri = String(integration.IntegrationUri)
  const functionArn = /functions\/(arn:[^/]+)\/invocations/.exec(uri)?.[1] ?? uri
  return { key: String(RouteKey), functionArn, isSigned: AuthorizationType === 'AWS_IAM' }
}

function integrationOf(stack: Stack, route: string): Record<string, unknown> | undefined {
  const target = stack.read(route, 'Target')
  const id = stack
    .ids('AWS::ApiGatewayV2::Integration')
    .find(one => target === `integrations/${stack.describe(one).physicalId}`)
  return id === undefined ? undefined : stack.properties(id)
}

/** Why a route is not served. An authorizer that does not run here must not let its requests through. */
function problemOf(stack: Stack, route: string): string | undefined {
  const authorization = stack.read(route, 'AuthorizationType') ?? 'NONE'
  if (authorization !== 'NONE' && authorization !== 'AWS_IAM')
    return `its authorizer (${authorization}) does not run here`
  const { IntegrationType, PayloadFormatVersion } = integrationOf(stack, route) ?? {}
  if (IntegrationType !== 'AWS_PROXY') return `its integration is ${IntegrationType}; only functions run here`
  if (PayloadFormatVersion === '2.0') return undefined
  return `its integration has payload format ${PayloadFormatVersion}; here it must be 2.0`
}

/** Whether pages of the request's origin may call the API. */
export function corsAdmits(cors: Cors | undefined, { headers: { origin } }: IncomingMessage): boolean {
  const fits = (one: string) => one === origin || (one.endsWith('*') && origin?.startsWith(one.slice(0, -1)))
  return origin !== undefined && ((cors?.AllowOrigins ?? []) as string[]).some(fits)
}

/** The headers that the settings of an API give to its answers. */
const CORS_HEADERS = {
  AllowMethods: 'access-control-allow-methods',
  AllowHeaders: 'access-control-allow-headers',
  AllowCredentials: 'access-control-allow-credentials',
  ExposeHeaders: 'access-control-expose-headers',
  MaxAge: 'access-control-max-age',
}

/** Answers preflights as API Gateway itself does. Its headers replace the function's. */
export function answeringCors(cors: Cors, serve: Serve): Serve {
  return async (request, body) => {
    const { method, headers } = request
    const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
    const answer = isPreflight
      ? { status: 204, headers: {}, body: Buffer.alloc(0) }
      : await serve(request, body)
    if (!corsAdmits(cors, request)) return answer
    const set = Object.entries(CORS_HEADERS).filter(([setting]) => cors[setting] !== undefined)
    const allowed = Object.fromEntries(set.map(([setting, name]) => [name, String(cors[setting])]))
    const origin = { 'access-control-allow-origin': headers.origin ?? '' }
    return { ...answer, headers: { ...answer.headers, ...allowed, ...origin } }
  }
}
