import * as z from 'zod'
import { openApiOf } from '../openapi.ts'
import { type Route, route } from '../route.ts'

/** The routes about the service itself. Its OpenAPI description covers `others` and these routes. */
export function serviceRoutes(others: readonly Route[]): Route[] {
  let description: unknown
  const routes: Route[] = [
    route({
      method: 'get',
      path: '/healthz',
      operation: 'health',
      summary: 'Whether the API answers',
      answers: { 200: { description: 'The API answers', schema: z.object({ status: z.literal('ok') }) } },
      handle: async () => ({ status: 200, body: { status: 'ok' } }),
    }),
    route({
      method: 'get',
      path: '/v1/openapi.json',
      operation: 'openapi',
      summary: 'Returns this description',
      answers: { 200: { description: 'OpenAPI 3.1', schema: z.record(z.string(), z.unknown()) } },
      handle: async () => {
        description ??= openApiOf([...others, ...routes])
        return { status: 200, body: description }
      },
    }),
  ]
  return routes
}
