import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, describe, expect, it } from 'vitest'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { strict } from '../../../shared/core/rules/compound.ts'
import { anApi, claimed, published, type Shown, type TestApi } from '../../support/http/an-api.ts'

let api: TestApi
let description: Shown
beforeAll(async () => {
  api = await anApi()
  description = (await api.call('GET', '/v1/openapi.json')).body
})

const operations = () =>
  Object.entries<Shown>(description.paths).flatMap(([path, methods]) =>
    Object.entries<Shown>(methods).map(([method, operation]) => ({ path, method, operation })),
  )

describe('the OpenAPI description', () => {
  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(description))

    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
  })

  it('covers every route of the contract', () => {
    expect(
      operations()
        .map(({ path, method }) => `${method.toUpperCase()} ${path}`)
        .sort(),
    ).toEqual([
      'DELETE /v1/schedules/{name}',
      'DELETE /v1/tasks/{id}',
      'GET /healthz',
      'GET /v1/activity',
      'GET /v1/canvases/{id}',
      'GET /v1/counts',
      'GET /v1/dead-letters',
      'GET /v1/events',
      'GET /v1/failures',
      'GET /v1/openapi.json',
      'GET /v1/schedules',
      'GET /v1/schedules/{name}',
      'GET /v1/tasks',
      'GET /v1/tasks/{id}',
      'GET /v1/tasks/{id}/previous',
      'GET /v1/tasks/{id}/why',
      'GET /v1/types',
      'GET /v1/types/{type}',
      'GET /v1/types/{type}/counts',
      'GET /v1/types/{type}/limits',
      'GET /v1/workers',
      'PATCH /v1/tasks/{id}',
      'POST /v1/canvases',
      'POST /v1/canvases/{id}/cancel',
      'POST /v1/claims',
      'POST /v1/dead-letters/replay',
      'POST /v1/runs/finish',
      'POST /v1/runs/heartbeat',
      'POST /v1/schedules/{name}/pause',
      'POST /v1/schedules/{name}/resume',
      'POST /v1/schedules/{name}/trigger',
      'POST /v1/tasks',
      'POST /v1/tasks/batch',
      'POST /v1/tasks/{id}/cancel',
      'POST /v1/tasks/{id}/retry',
      'POST /v1/tasks/{id}/runs/{runId}/fail',
      'POST /v1/tasks/{id}/runs/{runId}/heartbeat',
      'POST /v1/tasks/{id}/runs/{runId}/release',
      'POST /v1/tasks/{id}/runs/{runId}/succeed',
      'POST /v1/types/{type}/pause',
      'POST /v1/types/{type}/purge',
      'POST /v1/types/{type}/resume',
      'PUT /v1/schedules/{name}',
      'PUT /v1/types/{type}',
    ])
  })

  it('names each operation once, and its parameters as its path does', () => {
    const ids = operations().map(({ operation }) => operation.operationId)

    expect(new Set(ids).size).toBe(ids.length)
    for (const { path, operation } of operations()) {
      const named = operation.parameters
        .filter((one: Shown) => one.in === 'path')
        .map((one: Shown) => one.name)
      expect(named).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    }
  })

  it('refers only to definitions that exist', () => {
    const text = JSON.stringify(description)
    const targets = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name ?? '')

    expect(targets.length).toBeGreaterThan(20)
    expect(targets.filter(name => !(name in description.components.schemas))).toEqual([])
    expect(text).not.toContain('$defs')
  })
})

describe('answers', () => {
  const schemas = async () => ({
    ...(await import('../../../shared/api/problems.ts')),
    ...(await import('../../../shared/api/publish.ts')),
    ...(await import('../../../shared/api/runs.ts')),
    ...(await import('../../../shared/api/tasks.ts')),
    ...(await import('../../../shared/api/types.ts')),
  })

  it('match their descriptions', async () => {
    const {
      claimsAnswer,
      countsAnswer,
      heartbeatAnswer,
      problemAnswer,
      publishAnswer,
      task,
      taskAnswer,
      taskPage,
      typeAnswer,
    } = await schemas()
    const body = {
      key: 'a',
      userId: 'u',
      tags: { a: 'b' },
      input: 1,
      timeoutMs: 9,
      deadlineMs: 99,
      retry: { backoff: 'ladder', delaysMs: [1] },
    }
    const strictly = (schema: Shown, value: unknown) =>
      expect(strict(schema.shape).problems(value, '')).toEqual([])

    strictly(publishAnswer, (await api.call('POST', '/v1/tasks', { type: 'jobs', ...body })).body)
    strictly(claimsAnswer, (await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w' })).body)
    await published(api, { key: 'b' })
    const { path, fence } = await claimed(api)
    strictly(heartbeatAnswer, (await api.call('POST', `${path}/heartbeat`, { fence, progress: 1 })).body)
    strictly(taskAnswer, (await api.call('POST', `${path}/succeed`, { fence, result: [] })).body)
    strictly(task, (await api.call('GET', pathOf('get', 'jobs:b'))).body)
    strictly(taskPage, (await api.call('GET', '/v1/tasks?type=jobs&limit=1')).body)
    strictly(countsAnswer, (await api.call('GET', '/v1/types/jobs/counts')).body)
    strictly(typeAnswer, (await api.call('GET', '/v1/types/jobs')).body)
    strictly(
      problemAnswer,
      (await api.call('POST', `${path}/fail`, { fence, error: { name: 'E', message: '' } })).body,
    )
  })
})
