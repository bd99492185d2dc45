import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { readComments } from '../../openapi/comments.ts'
import { openApiOf } from '../../openapi/openapi.ts'
import { schemaFiles } from '../../openapi/schemas.ts'
import { ALL_OPERATIONS } from '../../shared/service/operations.ts'
import { readContract } from '../support/conformance/contract.ts'

it('the OpenAPI document is that of the present sources; else run: npm run openapi', async () => {
  const made = await openApiOf(
    ALL_OPERATIONS,
    readComments(resolve(import.meta.dirname, '../..'), schemaFiles()),
  )

  expect(readContract().document).toEqual(JSON.parse(JSON.stringify(made)))
})
