import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { allRoutes } from '../../../functions/http/all-routes.ts'
import { openApiOf } from '../../../scripts/openapi/openapi.ts'

const FILE = resolve(import.meta.dirname, '../../../functions/http/openapi.json')

it('the OpenAPI document is that of the present sources; else run: npm run openapi', async () => {
  const made = JSON.parse(JSON.stringify(await openApiOf(allRoutes)))

  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(made)
})
