import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda'
import { handle, type LambdaEvent } from 'hono/aws-lambda'
import { flushSpans } from '../shared/runtime/spans.ts'
import type { System } from '../shared/runtime/system.ts'
import { flushMetrics } from './compose.ts'
import type { createApi } from './http/create-api.ts'

type HttpHandler = (
  event: APIGatewayProxyEventV2,
  context: Context,
) => Promise<APIGatewayProxyStructuredResultV2>

/** The Lambda handler of an application behind API Gateway: what it measured is written out before the process may freeze. */
export function serveHttp(system: System, app: ReturnType<typeof createApi>): HttpHandler {
  const answer = handle(app)
  return async (event, context) => {
    try {
      return (await answer(event as unknown as LambdaEvent, context)) as APIGatewayProxyStructuredResultV2
    } finally {
      flushMetrics()
      await flushSpans(system.clock)
    }
  }
}
