import { expect, it } from 'vitest'
import type { RequestContext } from '../../../../functions/http/create-api.ts'
import { PRINCIPAL_CHARACTERS_MAX } from '../../../../shared/core/bounds.ts'
import { anApiPerTest, claimed, published, type Shown } from '../../../support/http/an-api.ts'

const api = anApiPerTest()

const byRole = (userArn: string): RequestContext => ({ authorizer: { iam: { userArn } } })
const alice = byRole('arn:aws:sts::1:assumed-role/ops/alice')
const bob: RequestContext = { authorizer: { jwt: { claims: { sub: 'bob' } } } }

async function as(
  requestContext: RequestContext,
  method: string,
  path: string,
  body?: unknown,
): Promise<Shown> {
  const request = {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  }
  const event = { rawPath: decodeURIComponent(path), rawQueryString: '' }
  const response = await api.app.request('/', request, { event, requestContext })
  expect(response.status, `${method} ${path}`).toBeLessThan(300)
  return response.json()
}

const changesOf = ({ operations = [] }: Shown) => operations.map(({ by, what }: Shown) => `${what} by ${by}`)
const shown = async (path: string) => (await api.call('GET', path)).body

it('a task shows the callers that changed, updated, cancelled and restarted it, even after it starts over', async () => {
  const id = await published(api, { key: 'k' })
  const path = `/v1/tasks/${id}`

  await as(alice, 'PATCH', path, { priority: 1 })
  await as(bob, 'POST', '/v1/tasks', { type: 'jobs', key: 'k', input: 2, ifExists: 'update' })
  await as(alice, 'POST', `${path}/cancel`)
  await as(bob, 'POST', `${path}/retry`)
  await as(alice, 'POST', '/v1/tasks', { type: 'jobs', key: 'k', ifExists: 'restart' })

  const by = { alice: 'arn:aws:sts::1:assumed-role/ops/alice', bob: 'bob' }
  const task = await shown(path)
  expect(changesOf(task)).toEqual([
    `patch by ${by.alice}`,
    `update by ${by.bob}`,
    `cancel by ${by.alice}`,
    `restart by ${by.bob}`,
    `restart by ${by.alice}`,
  ])
  expect(task.operations[0].at).toBe('2026-01-01T12:00:00.000Z')
})

it('publishes, claims, finishes and debounced publishes are not recorded as operations', async () => {
  const id = await published(api, { key: 'plain' })
  const { fence, path } = await claimed(api)
  await as(alice, 'POST', `${path}/succeed`, { fence })
  for (const nth of [1, 2]) {
    await as(alice, 'POST', '/v1/tasks', { type: 'jobs', key: 'often', input: nth, debounce: { ms: 60_000 } })
  }

  for (const one of [id, 'jobs:often'])
    expect(await shown(`/v1/tasks/${one}`)).not.toHaveProperty('operations')
})

it('workers do not see operations, and a patch that changes nothing records none', async () => {
  const id = await published(api, { key: 'k' })
  await as(alice, 'PATCH', `/v1/tasks/${id}`, {})
  expect(await shown(`/v1/tasks/${id}`)).not.toHaveProperty('operations')

  await as(alice, 'PATCH', `/v1/tasks/${id}`, { priority: 1 })
  const claim = await as(bob, 'POST', '/v1/claims', { type: 'jobs', workerId: 'w', limit: 1 })

  expect(claim.claims[0].task.id).toBe(id)
  expect(claim.claims[0].task).not.toHaveProperty('operations')
})

it('a type shows the callers that set, paused, resumed and purged it', async () => {
  await as(alice, 'PUT', '/v1/types/mail', { kind: 'http' })
  await as(alice, 'PUT', '/v1/types/mail', { kind: 'http', ordering: 'aged' })
  const paused = as(bob, 'POST', '/v1/types/mail/pause')
  await api.system.clock.advance(10_000)
  await paused
  await as(alice, 'POST', '/v1/types/mail/purge', { status: ['failed'] })

  const by = 'arn:aws:sts::1:assumed-role/ops/alice'
  expect(changesOf(await shown('/v1/types/mail'))).toEqual([
    `put by ${by}`,
    `put by ${by}`,
    'pause by bob',
    `purge by ${by}`,
  ])
})

it('a schedule shows the callers that set, changed, paused, resumed and triggered it; its published task shows no operation', async () => {
  const body = { everyMs: 60_000, task: { type: 'jobs' } }
  await as(alice, 'PUT', '/v1/schedules/hourly', body)
  await as(bob, 'PUT', '/v1/schedules/hourly', { ...body, everyMs: 120_000 })
  await as(bob, 'POST', '/v1/schedules/hourly/pause')
  await as(bob, 'POST', '/v1/schedules/hourly/resume')
  const { taskId } = await as(bob, 'POST', '/v1/schedules/hourly/trigger')

  expect(changesOf(await shown('/v1/schedules/hourly'))).toEqual([
    'put by arn:aws:sts::1:assumed-role/ops/alice',
    'put by bob',
    'pause by bob',
    'resume by bob',
    'trigger by bob',
  ])
  expect(await shown(`/v1/tasks/${taskId}`)).not.toHaveProperty('operations')
})

it('an API without an authorizer records anonymous, and a long principal is cut', async () => {
  const id = await published(api, { key: 'k' })
  await as({}, 'PATCH', `/v1/tasks/${id}`, { priority: 1 })
  await as(byRole('x'.repeat(1_000)), 'PATCH', `/v1/tasks/${id}`, { priority: 2 })

  expect(changesOf(await shown(`/v1/tasks/${id}`))).toEqual([
    'patch by anonymous',
    `patch by ${'x'.repeat(PRINCIPAL_CHARACTERS_MAX)}`,
  ])
})
