import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda'
import { flushSpans } from '../shared/runtime/kernel/spans.ts'
import type { System } from '../shared/runtime/kernel/system.ts'
import { flushMetrics } from './compose/compose.ts'
import type { createApi } from './http/create-api.ts'

type HttpHandler = (
  event: APIGatewayProxyEventV2,
  context: Context,
) => Promise<APIGatewayProxyStructuredResultV2>

/** Makes the Lambda handler of an API behind API Gateway. It writes metrics and spans before Lambda may freeze the process. */
export function serveHttp(system: System, app: ReturnType<typeof createApi>): HttpHandler {
  return async event => {
    try {
      const { requestContext } = event
      const response = await app.request(requestOf(event), undefined, { event, requestContext })
      return await resultOf(response, requestContext.http.method)
    } finally {
      flushMetrics()
      await flushSpans(system.clock)
    }
  }
}

/**
 * Makes a request of an event's headers and body. The application reads method and path from the event itself, because a
 * `Request` cannot hold every method, a GET with a body, or every path that a client may send.
 */
function requestOf({ headers, body, isBase64Encoded }: APIGatewayProxyEventV2): Request {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined) as [string, string][]
  return new Request('https://api/', {
    method: 'POST',
    headers: given.map(([name, value]): [string, string] => [name, headerText(value)]),
    ...(body && { body: Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8') }),
  })
}

/**
 * Percent-encodes a header that is not ASCII, because a `Request` refuses characters beyond Latin-1. The API reads only headers that
 * are ASCII, so the encoding changes none of these.
 */
function headerText(value: string): string {
  return /[^\x20-\x7E\t]/.test(value) ? encodeURIComponent(value) : value
}

async function resultOf(response: Response, method: string): Promise<APIGatewayProxyStructuredResultV2> {
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: method === 'HEAD' ? '' : await response.text(),
    isBase64Encoded: false,
  }
}
