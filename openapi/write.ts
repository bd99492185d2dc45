import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ALL_OPERATIONS } from '../shared/service/operations.ts'
import { readComments } from './comments.ts'
import { openApiOf } from './openapi.ts'
import { schemaFiles } from './schemas.ts'
import { withReasonTables } from './waiting-tables.ts'

/**
 * `npm run openapi`: writes the OpenAPI document that the API serves, and the tables of docs/waiting.md. Tests fail while they differ
 * from the present sources.
 */
const ROOT = resolve(import.meta.dirname, '..')

const document = await openApiOf(ALL_OPERATIONS, readComments(ROOT, schemaFiles()))
writeFileSync(resolve(ROOT, 'functions/http/openapi.json'), `${JSON.stringify(document, undefined, 2)}\n`)

const waitingPage = resolve(ROOT, 'docs/waiting.md')
writeFileSync(waitingPage, withReasonTables(readFileSync(waitingPage, 'utf8')))
