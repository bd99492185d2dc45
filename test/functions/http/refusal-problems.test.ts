import { describe, expect, it } from 'vitest'
import { anApi } from '../../support/http/an-api.ts'

const api = await anApi()

const publish = async (body: object) => (await api.call('POST', '/v1/tasks', { type: 'jobs', ...body })).body

describe('a refusal names the field, its value and what is legal', () => {
  it.each<[string, object, string]>([
    ['a number', { concurrency: '2' }, "concurrency must be a whole number from 1 to 100, not '2'"],
    [
      'a nested number',
      { retry: { maxRetries: -1 } },
      'retry.maxRetries must be a whole number from 0 to 1000, not -1',
    ],
    [
      'a word with its nearest',
      { retry: { backoff: 'expo' } },
      "retry.backoff must be one of exponential, fixed, fibonacci, ladder, not 'expo'; did you mean 'exponential'?",
    ],
    [
      'a word of another schema',
      { ifExists: 'replaces' },
      "ifExists must be one of keep, update, reject, restart, not 'replaces'",
    ],
    ['a missing one', { type: undefined }, 'type is required: 1–100 of A–Z a–z 0–9 . _ -'],
    ['an object', { retry: 3 }, 'retry must be an object, not 3'],
    ['a list', { workerIds: 'w1' }, "workerIds must be a list of 0–100 members, not 'w1'"],
    [
      'a time',
      { dueAt: 'tomorrow' },
      "dueAt must be a time such as 2026-01-31T12:00:00.000Z, not 'tomorrow'",
    ],
    ['a long value in short', { key: 7, userId: 'x'.repeat(5_000) }, `'${'x'.repeat(80)}…'`],
    ['true or false', { immutable: 1 }, 'immutable must be true or false, not 1'],
    ['a list in place of tags', { tags: ['a'] }, 'tags must be an object with at most 50 texts, not a list'],
  ])('%s', async (_what, body, words) => {
    const { errors } = await publish(body)

    const said = errors.map(({ path, message }: { path: string; message: string }) => `${path} ${message}`)
    expect(said.join('\n')).toContain(words)
  })

  it('an unknown field, with the nearest known field', async () => {
    const { errors } = await publish({ prioritty: 1, retry: { retries: 3 } })

    expect(errors[1]).toMatchObject({ path: 'prioritty' })
    expect(errors[1].message).toMatch(
      /^is not a field here; did you mean 'priority'\? The fields are type, key, /,
    )
    expect(errors[0]).toMatchObject({ path: 'retry.retries' })
    expect(errors[0].message).toMatch(/^is not a field here; .*'maxRetries'/)
  })
})

describe('a request for an unknown name', () => {
  it('of a type is answered with the nearest type, a handful of others, and how many more there are', async () => {
    const many = await anApi()
    for (let nth = 0; nth < 40; nth++) await many.call('PUT', `/v1/types/report-${nth}`, { kind: 'http' })

    const { status, body } = await many.call('POST', '/v1/tasks', { type: 'resise' })

    expect(status).toBe(404)
    expect(body.detail).toBe(
      "'resise' is not registered; did you mean 'resize'? There are resize, jobs, report-0, report-1, report-10 and 37 more",
    )
  })

  it('of a task without its type is answered with the form of an id', async () => {
    const { status, body } = await api.call('GET', '/v1/tasks/hello')

    expect([status, body.detail]).toEqual([
      404,
      "'hello' is not a task id: give type:key, such as resize:img-1",
    ])
  })

  it('of a status in a query names the parameter, not a member of a list', async () => {
    const { body } = await api.call('GET', '/v1/tasks?type=jobs&status=ready&status=fialed')

    expect(body.errors).toEqual([
      {
        path: 'status',
        message:
          "must be one of delayed, ready, running, compensating, succeeded, failed, cancelled, not 'fialed'; did you mean 'failed'?",
      },
    ])
  })
})

describe('the problem of a wrong cron expression begins with the fault', () => {
  const detailOf = async (cron: string) =>
    (await api.call('PUT', '/v1/schedules/s', { cron, task: { type: 'jobs' } })).body.detail

  it.each([
    ['0 25 * * *', "cron cannot be read: its hour is '25'; it must have 5 fields"],
    ['0 0 * * mon-x', "cron cannot be read: its day of week is 'mon-x'; it must have 5 fields"],
    ['* * *', 'cron has 3 fields; it must have 5 fields'],
    [' ', 'cron is empty; it must have 5 fields'],
  ])('%j', async (cron, words) => {
    expect(await detailOf(cron)).toMatch(new RegExp(`^${words.replaceAll('*', '\\*')}`))
  })
})

describe('the kind of a type that is deployed', () => {
  it('changes only by deployment; the other fields change over HTTP', async () => {
    const { system, call } = await anApi()
    const { registerHandlerType, removeHandler } = await import('../../../shared/runtime/types/types.ts')
    await registerHandlerType(system, 'resize', { kind: 'handler', defaults: {} })
    await registerHandlerType(system, 'webhook', { kind: 'webhook', defaults: {} })

    const refused = await call('PUT', '/v1/types/resize', { kind: 'http' })
    const webhook = await call('PUT', '/v1/types/webhook', { kind: 'http' })
    const kept = await call('PUT', '/v1/types/resize', { kind: 'handler', defaults: { priority: 3 } })

    expect(refused).toMatchObject({ status: 409, body: { errors: [{ path: 'kind' }] } })
    expect(refused.body.detail).toBe(
      'kind of resize must be "handler": the type is deployed with that kind, and only a deployment can change it',
    )
    expect([webhook.status, kept.status]).toEqual([409, 200])
    expect((await call('GET', '/v1/types/resize')).body).toMatchObject({
      kind: 'handler',
      defaults: { priority: 3 },
    })

    await removeHandler(system, 'resize')
    expect((await call('PUT', '/v1/types/resize', { kind: 'http' })).status).toBe(200)
  })

  it('may change over HTTP while it is not deployed', async () => {
    const { call } = await anApi()

    expect((await call('PUT', '/v1/types/resize', { kind: 'http' })).status).toBe(200)
  })
})
