import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda'
import { handle, type LambdaEvent } from 'hono/aws-lambda'
import { flushSpans } from '../shared/runtime/spans.ts'
import { composeSystem, flushMetrics } from './compose.ts'
import { allRoutes } from './http/all-routes.ts'
import { createApi } from './http/create-api.ts'

const system = composeSystem()
const answer = handle(createApi(system, allRoutes))

/** The HTTP API behind API Gateway. */
export async function handler(
  event: APIGatewayProxyEventV2,
  context: Context,
): Promise<APIGatewayProxyStructuredResultV2> {
  try {
    return (await answer(event as unknown as LambdaEvent, context)) as APIGatewayProxyStructuredResultV2
  } finally {
    flushMetrics()
    await flushSpans(system.clock)
  }
}
