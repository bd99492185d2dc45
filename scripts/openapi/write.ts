import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { allRoutes } from '../../functions/http/all-routes.ts'
import { openApiOf } from './openapi.ts'

/** `npm run openapi`: writes the OpenAPI document that the API serves. A test fails while it is not that of the present sources. */
const FILE = resolve(import.meta.dirname, '../../functions/http/openapi.json')

writeFileSync(FILE, `${JSON.stringify(await openApiOf(allRoutes), undefined, 2)}\n`)
