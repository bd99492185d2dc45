import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda'
import { handle, type LambdaEvent } from 'hono/aws-lambda'
import { required } from '../shared/aws/environment.ts'
import { flushSpans } from '../shared/runtime/spans.ts'
import { composeSystem, flushMetrics } from './compose.ts'
import { createApi } from './http/create-api.ts'
import { claimRoutes } from './http/routes/claims.ts'

const system = composeSystem()
const pace = {
  retryAfterMs: Number(required('BATON_CLAIM_RETRY_MS')),
  maxWaiting: Number(required('BATON_CLAIM_MAX_WAITING')),
}
const answer = handle(createApi(system, claimRoutes, pace))

/** The claims of HTTP workers, apart from the rest of the API: they wait, and are many where many workers idle. */
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
