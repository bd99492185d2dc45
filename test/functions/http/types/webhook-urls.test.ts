import { beforeEach, describe, expect, it } from 'vitest'
import { putType } from '../../../../shared/runtime/types/types.ts'
import { anApiPerTest, expectRefused, published } from '../../../support/http/an-api.ts'

const URL_WITH_PASSWORD = 'https://user:hidden@example.com/hook?a=1'

const api = anApiPerTest()
beforeEach(async () => {
  await api.call('PUT', '/v1/types/webhook', { kind: 'webhook' })
  await api.call('PUT', '/v1/types/notify', { kind: 'webhook', webhook: { url: 'https://example.com/' } })
})

describe('a password in the URL of a type', () => {
  it('is refused; the answer names the field and what is legal, and does not repeat the password', async () => {
    const { status, body } = await api.call('PUT', '/v1/types/notify', {
      kind: 'webhook',
      webhook: { url: URL_WITH_PASSWORD },
    })

    expect(status).toBe(400)
    expect(body.errors).toEqual([
      { path: 'webhook.url', message: expect.stringContaining('must have no user name or password') },
    ])
    expect(body.errors[0].message).toContain('webhook.secretName')
    expect(JSON.stringify(body)).not.toContain('hidden')
  })

  it('is masked in a stored type, and the rest of the type is shown', async () => {
    const webhook = { url: URL_WITH_PASSWORD, timeoutMs: 5_000, secretName: 'orders' }
    await putType(api.system, 'old', { kind: 'webhook', defaults: {}, webhook })

    const one = await api.call('GET', '/v1/types/old')
    const all = await api.call('GET', '/v1/types')

    expect(one.body.webhook).toEqual({ ...webhook, url: 'https://***@example.com/hook?a=1' })
    expect(JSON.stringify(all.body)).toContain('https://***@example.com')
    expect(JSON.stringify([one.body, all.body])).not.toMatch(/hidden|user/)
    expect((await api.system.types.get('old'))?.configuration.webhook).toEqual(webhook)
  })
})

describe('a password in the URL of an input', () => {
  const task = { type: 'webhook', input: { url: URL_WITH_PASSWORD } }
  const schedule = (one: object) => ({ everyMs: 60_000, task: one })
  const flow = (step: object) => ({ kind: 'flow', steps: [{ name: 'one', ...step }] })

  it.each([
    ['POST', '/v1/tasks', task, 'input.url'],
    ['POST', '/v1/tasks', { type: 'jobs', onSuccess: [task] }, 'onSuccess.0.input.url'],
    ['POST', '/v1/canvases', { chain: [{ type: 'jobs' }, task] }, 'chain.1.input.url'],
    ['PUT', '/v1/schedules/hourly', schedule(task), 'task.input.url'],
    ['PUT', '/v1/types/order', flow({ do: { type: 'jobs' }, undo: task }), 'steps.0.undo.input.url'],
    ['PUT', '/v1/types/order', flow({ do: task }), 'steps.0.do.input.url'],
    ['PATCH', '/v1/tasks/webhook:own', { input: task.input }, 'input.url'],
  ])('is refused by %s %s', async (method, path, body, field) => {
    await published(api, { type: 'webhook', key: 'own', input: { url: 'https://example.com/' } })

    const { body: answer } = await expectRefused(api.call(method, path, body), field)

    expect(answer.errors).toMatchObject([
      { message: expect.stringContaining('must have no user name or password') },
    ])
    expect(JSON.stringify(answer)).not.toContain('hidden')
    expect((await api.task('webhook:own')).input).toEqual({ url: 'https://example.com/' })
  })

  it('is refused for its own member of a batch only', async () => {
    const { body } = await api.call('POST', '/v1/tasks/batch', { tasks: [task, { type: 'jobs' }] })

    expect(body.results.map((one: { status: number }) => one.status)).toEqual([400, 201])
  })

  it.each([
    ['of a type with a URL of its own', { type: 'notify', input: { url: URL_WITH_PASSWORD } }],
    ['of another kind', { type: 'jobs', input: { url: URL_WITH_PASSWORD } }],
    ['that is not a URL', { type: 'webhook', input: { url: 'user:password@' } }],
  ])('does not matter in an input %s', async (_what, body) => {
    expect((await api.call('POST', '/v1/tasks', body)).status).toBe(201)
  })
})
