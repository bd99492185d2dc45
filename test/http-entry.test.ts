import { expect, it } from 'vitest'
import * as z from 'zod'
import { canvasBody, claimsBody, finishManyBody, publishBody } from '../shared/http-entry.ts'

/** The public entry `baton-tasks/http`. */

const END = { taskId: 'resize:a', runId: 'r', fence: 1, outcome: 'fail' }

it.each([
  [publishBody, { type: 'a', onSuccess: [{ type: 1 }] }, ['onSuccess', 0, 'type']],
  [publishBody, { type: 'a', tags: { 'a.b': 1 } }, ['tags', 'a.b']],
  [publishBody, 7, []],
  [canvasBody, { chain: [{ type: 'a', priority: 'x' }] }, ['chain', 0, 'priority']],
  [canvasBody, { chain: [] }, ['chain']],
  [canvasBody, { chord: { group: [{ type: 'a' }], then: { type: 'b', x: 1 } } }, ['chord', 'then', 'x']],
  [finishManyBody, { runs: [END] }, ['runs', 0, 'error']],
])('a schema names what is wrong, as zod does (%#)', (schema, value, path) => {
  const { error } = schema.safeParse(value)

  expect(error?.issues.map(issue => issue.path)).toEqual([path])
})

it('a schema takes what the API takes', () => {
  expect(publishBody.parse({ type: 'a', input: { b: [1] } })).toEqual({ type: 'a', input: { b: [1] } })
  expect(canvasBody.safeParse({ group: [{ chain: [{ type: 'a' }] }] }).success).toBe(true)
})

it('a schema has the JSON Schema of its rule', () => {
  expect(z.toJSONSchema(claimsBody)).toMatchObject({
    type: 'object',
    required: ['workerId'],
    properties: { waitMs: { type: 'integer', minimum: 0 } },
    additionalProperties: false,
  })
  expect(JSON.stringify(z.toJSONSchema(publishBody))).not.toContain('$component')
})
