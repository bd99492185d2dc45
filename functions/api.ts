import { requiredVariable } from '../shared/aws/environment.ts'
import { ALL_OPERATIONS } from '../shared/service/operations.ts'
import { composeDiagnosticSystem } from './compose/compose-dead-letters.ts'
import { createApi } from './http/create-api.ts'
import { serveHttp } from './serve-http.ts'

const system = composeDiagnosticSystem()
const version = requiredVariable('BATON_PACKAGE_VERSION')

/** The HTTP API behind API Gateway. */
export const handler = serveHttp(
  system,
  createApi(system, ALL_OPERATIONS, { version, basePath: process.env.BATON_BASE_PATH }),
)
