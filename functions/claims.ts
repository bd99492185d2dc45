import { requiredVariable } from '../shared/aws/environment.ts'
import { claimOperations } from '../shared/service/operations/runs.ts'
import { composeDiagnosticSystem } from './compose/compose-dead-letters.ts'
import { createApi } from './http/create-api.ts'
import { serveHttp } from './serve-http.ts'

const system = composeDiagnosticSystem()
const claimPace = {
  retryAfterMs: Number(requiredVariable('BATON_CLAIM_RETRY_MS')),
  maxWaiting: Number(requiredVariable('BATON_CLAIM_MAX_WAITING')),
}

/**
 * The function that serves claims of HTTP workers. It is separate from the rest of the API, because claims wait for work
 * and idle workers send many of them.
 */
export const handler = serveHttp(
  system,
  createApi(system, claimOperations, { claimPace, basePath: process.env.BATON_BASE_PATH }),
)
