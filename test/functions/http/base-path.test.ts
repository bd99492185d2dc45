import { expect, it } from 'vitest'
import { createApi } from '../../../functions/http/create-api.ts'
import { ALL_OPERATIONS } from '../../../shared/service/operations.ts'
import { aMemorySystem, type MemorySystem } from '../../support/worlds/memory-system.ts'

const system = aMemorySystem() as MemorySystem

/** The status for a path as API Gateway hands it over, when the functions know this base path. */
async function statusOf(rawPath: string, basePath?: string): Promise<number> {
  const app = createApi(system as never, ALL_OPERATIONS, { basePath })
  const event = { rawPath, rawQueryString: '', requestContext: { http: { method: 'GET' } } }
  return (await app.request('/', { method: 'POST' }, { event })).status
}

it.each([
  ['/healthz', undefined, 200],
  ['/tasks/healthz', undefined, 404],
  ['/tasks/healthz', '/tasks', 200],
  ['/tasks/v1/types', '/tasks', 200],
  ['/healthz', '/tasks', 200],
  ['/tasks', '/tasks', 404],
  ['/tasksandmore/healthz', '/tasks', 404],
  ['/a/tasks/healthz', '/tasks', 404],
])('a custom domain leaves its base path in front: %s with %s answers %i', async (path, basePath, status) => {
  expect(await statusOf(path, basePath)).toBe(status)
})
