import { readDescription } from '../description.ts'
import { route } from '../route.ts'

/** The routes about the service itself. */
export const serviceRoutes = [
  route({
    method: 'get',
    path: '/healthz',
    operation: 'health',
    handle: async ({ version }) => ({ status: 200, body: { status: 'ok', version } }),
  }),
  route({
    method: 'get',
    path: '/v1/openapi.json',
    operation: 'openapi',
    handle: async () => ({ status: 200, body: await readDescription() }),
  }),
]
