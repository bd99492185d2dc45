import { describe, expect, it } from 'vitest'
import { LOCAL_CREDENTIALS } from '../../../local/account.ts'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { type SignedFetchOptions, signedFetch } from '../../../shared/client/signed/signed-fetch.ts'
import { aLocalSystem, type LocalSystem } from '../../support/local-system/local-system.ts'

const demanding = aLocalSystem({ auth: 'iam' })
const lenient = aLocalSystem()

const call = (system: LocalSystem, path: string, init?: RequestInit, options?: SignedFetchOptions) =>
  signedFetch({ credentials: LOCAL_CREDENTIALS, ...options })(system.cloud.apiUrl + path, init)

const publish = (system: LocalSystem, key: string) =>
  call(system, '/v1/tasks', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'probe', key, delayMs: 3_600_000 }),
  })

const REFUSAL = { status: 403, text: '{"message":"Forbidden"}' }
async function shown(answer: Response | Promise<Response>) {
  const response = await answer
  return { status: response.status, text: await response.text() }
}

describe('an API that demands signatures', () => {
  it.each(['a:b@c,d=e+f', 'two words ü', 'a/b?c', '~x'])('serves a task with the key %s', async key => {
    expect((await publish(demanding, key)).status).toBe(201)

    const read = await call(demanding, pathOf('get', `probe:${key}`))

    expect(await read.json()).toMatchObject({ key })
  })

  it('serves a query with a repeated name, and records the signer as the one that changed a task', async () => {
    await publish(demanding, 'signed')
    const list = await call(demanding, '/v1/tasks?type=probe&status=delayed&status=ready')
    expect(list.status).toBe(200)

    const cancelled = await call(demanding, '/v1/tasks/probe%3Asigned/cancel', { method: 'POST' })

    const { task } = (await cancelled.json()) as { task: { operations: Array<{ by: string }> } }
    expect(task.operations[0]?.by).toMatch(/^arn:aws:iam::\d{12}:user\/./)
  })

  it('serves a role of the stack with its session token', async () => {
    const { credentials } = demanding.cloud.clientOptions

    expect((await call(demanding, '/v1/types', {}, { credentials })).status).toBe(200)
    const tokenless = { ...LOCAL_CREDENTIALS, accessKeyId: credentials.accessKeyId }
    expect(await shown(call(demanding, '/v1/types', {}, { credentials: tokenless }))).toEqual(REFUSAL)
  })

  it('refuses calls without a signature, also of the event stream, as API Gateway does', async () => {
    for (const path of ['/v1/types', '/v1/events', '/healthz'])
      expect(await shown(fetch(demanding.cloud.apiUrl + path))).toEqual(REFUSAL)
  })
})

describe('an API that demands none', () => {
  it('serves calls without a signature and correctly signed ones', async () => {
    expect((await fetch(`${lenient.cloud.apiUrl}/v1/types`)).status).toBe(200)
    expect((await call(lenient, '/v1/types')).status).toBe(200)
  })

  it('refuses a wrong signature all the same', async () => {
    const credentials = { ...LOCAL_CREDENTIALS, secretAccessKey: 'other' }

    expect(await shown(call(lenient, '/v1/types', {}, { credentials }))).toEqual(REFUSAL)
    expect(await shown(call(lenient, '/v1/events', {}, { credentials }))).toEqual(REFUSAL)
  })
})
