import { readFile } from 'node:fs/promises'
import type { Context } from 'hono'
// Baton finds its operations itself. This preset leaves out the routers that it does not use.
import { Hono } from 'hono/tiny'
import { PRINCIPAL_CHARACTERS_MAX } from '../../shared/core/bounds.ts'
import type { ClaimPace } from '../../shared/runtime/claim/wait-for-work.ts'
import type { System } from '../../shared/runtime/kernel/system.ts'
import type { Answer, Operation } from '../../shared/service/operation.ts'
import { createService } from '../../shared/service/service.ts'
import { readBody } from './read-body.ts'

/** `requestContext` comes from API Gateway. The access log has its request id, too. */
type Environment = {
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
 * Makes the HTTP API: a Hono application that serves the given operations. This room turns events and requests into calls of the service
 * (`shared/service/service.ts`), and its answers into responses. `read-body.ts` reads the body.
 */
export function createApi<On extends System>(
  system: On,
  operations: readonly Operation<On>[],
  { basePath = '', ...settings }: ApiSettings = {},
): Hono<Environment> {
  const serve = createService(system, operations, { description: readDescription, ...settings })
  const app = new Hono<Environment>()
  app.all('*', async context => {
    const { raw } = context.req
    const requestContext = context.env?.requestContext
    const requestId = requestContext?.requestId ?? system.chance.ulid(system.clock.now())
    const answer = await serve({
      ...targetOf(context, basePath),
      readBody: () => readBody(raw),
      hasBody: raw.body !== null,
      traceparent: raw.headers.get('traceparent') ?? undefined,
      requestId,
      principal: principalOf(requestContext),
    })
    return responseOf(answer, { 'x-request-id': requestId })
  })
  return app
}

type Target = { readonly method: string; readonly path: string; readonly query: URLSearchParams }

/**
 * Returns the method, path and query of a request. The event holds the path as API Gateway has decoded it. A URL parser would
 * change a `#`, `..`, `\` or `%41` in it. Without an event, the URL's path is decoded in the same way.
 */
function targetOf({ env, req }: Context<Environment>, basePath: string): Target {
  const event = env?.event
  const method = event?.requestContext?.http.method ?? req.method
  if (event) {
    const { rawPath } = event
    const path = rawPath.startsWith(`${basePath}/`) ? rawPath.slice(basePath.length) : rawPath
    return { method, path, query: new URLSearchParams(event.rawQueryString) }
  }
  const { pathname, searchParams } = new URL(req.url)
  return { method, path: decoded(pathname), query: searchParams }
}

/** Decodes a path. A path that is not correctly percent-encoded stays as it is, and matches no resource. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function responseOf({ status, body, headers }: Answer, more: Readonly<Record<string, string>>): Response {
  const init = { status, headers: { ...headers, ...more } }
  return body === undefined ? new Response(null, init) : Response.json(body, init)
}

let description: Promise<unknown> | undefined

/**
 * Returns the OpenAPI document. `npm run openapi` makes it from the operations and the rules (`openapi`), and each bundle of the
 * API has it as a file next to itself. A process reads it once, when a caller first asks for it.
 */
function readDescription(): Promise<unknown> {
  description ??= readFile(new URL('openapi.json', import.meta.url), 'utf8').then(JSON.parse)
  // A read that failed may succeed the next time.
  description.catch(() => {
    description = undefined
  })
  return description
}

/** The parts of API Gateway's request context that Baton reads. The kind of authorizer decides which member names the caller. */
export type RequestContext = {
  readonly requestId?: string
  readonly authorizer?: {
    readonly iam?: { readonly userArn?: string }
    readonly jwt?: { readonly claims?: { readonly sub?: unknown } }
  }
}

/** The principal of callers of an API without an authorizer, such as the local one. */
const ANONYMOUS = 'anonymous'

/** The principal of a request: the ARN of an IAM principal, the subject of a token, or `anonymous`. */
function principalOf({ authorizer }: RequestContext = {}): string {
  const sub = authorizer?.jwt?.claims?.sub
  const named = authorizer?.iam?.userArn ?? (typeof sub === 'string' ? sub : undefined)
  return (named ?? ANONYMOUS).slice(0, PRINCIPAL_CHARACTERS_MAX).toWellFormed()
}
