import { requiredVariable } from '../shared/aws/environment.ts'
import { composeDiagnosticSystem } from './compose/compose-dead-letters.ts'
import { allRoutes } from './http/all-routes.ts'
import { createApi } from './http/create-api.ts'
import { serveHttp } from './serve-http.ts'

const system = composeDiagnosticSystem()
const version = requiredVariable('BATON_PACKAGE_VERSION')

/** The HTTP API behind API Gateway. */
export const handler = serveHttp(
  system,
  createApi(system, allRoutes, { version, basePath: process.env.BATON_BASE_PATH }),
)
