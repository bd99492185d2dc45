import { requiredVariable } from '../shared/aws/environment.ts'
import { composeSystem } from './compose/compose.ts'
import { createApi } from './http/create-api.ts'
import { claimRoutes } from './http/routes/claims.ts'
import { serveHttp } from './serve-http.ts'

const system = composeSystem()
const pace = {
  retryAfterMs: Number(requiredVariable('BATON_CLAIM_RETRY_MS')),
  maxWaiting: Number(requiredVariable('BATON_CLAIM_MAX_WAITING')),
}

/** The claims of HTTP workers, apart from the rest of the API: they wait, and are many where many workers idle. */
export const handler = serveHttp(system, createApi(system, claimRoutes, pace))
