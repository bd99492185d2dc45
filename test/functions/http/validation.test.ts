import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ALL_OPERATIONS } from '../../../shared/service/operations.ts'
import { anApi, expectRefused, type Shown } from '../../support/http/an-api.ts'
import { BAD_OPTIONS, BAD_PUBLISH, BAD_WORK, type Bad } from '../../support/http/bad-fields.ts'

const api = await anApi()

/** Fields that do not exist. */
const UNKNOWN = [
  'stage',
  'onSuccess',
  'onError',
  'immutable',
  'fairnessKey',
  'debounce',
  'throttle',
  'constructor',
  '__proto__',
  'Key',
]

function bodyWith(field: string, value: unknown): string {
  const pairs = Object.entries({ type: 'jobs' }).filter(([name]) => name !== field)
  const rest = pairs.map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`)
  const text = value === undefined ? [] : [`${JSON.stringify(field)}:${JSON.stringify(value)}`]
  return `{${[...rest, ...text].join(',')}}`
}

const refused = (method: string, path: string, body: unknown, field: string, status = 400) =>
  expectRefused(api.call(method, path, body), field, status)

describe('a publish is refused by the path of the field', () => {
  it.each<Bad>([...BAD_PUBLISH, ...BAD_WORK, ...BAD_OPTIONS])(
    '%s: %j',
    async (field, value, path = field) => {
      await refused('POST', '/v1/tasks', bodyWith(field, value), path)
    },
  )

  it.each(UNKNOWN)('that does not exist: %s', async field => {
    await refused('POST', '/v1/tasks', bodyWith(field, 1), field)
  })

  it('when two fields contradict each other', async () => {
    const tasks = { type: 'jobs', delayMs: 1, dueAt: '2026-01-02T00:00:00Z' }
    await refused('POST', '/v1/tasks', tasks, 'delayMs')
    await refused('POST', '/v1/tasks', { type: 'jobs', heartbeatMs: 2_000, leaseMs: 1_000 }, 'heartbeatMs')
    await refused('POST', '/v1/tasks', { type: 'jobs', concurrency: 2, workerIds: ['a'] }, 'concurrency')
  })

  it.each([null, [], 7, '"text"', true])('when it is not an object: %j', async body => {
    const { status, body: answer } = await api.call('POST', '/v1/tasks', JSON.stringify(body))

    expect(status).toBe(400)
    expect(answer.errors[0].path).toBe('')
  })

  it('with 413 when the input is longer than 350 KB', async () => {
    await refused('POST', '/v1/tasks', { type: 'jobs', input: 'x'.repeat(350 * 1_024) }, 'input', 413)
    const fitting = await api.call('POST', '/v1/tasks', { type: 'jobs', input: 'x'.repeat(350 * 1_024 - 2) })
    expect(fitting.status).toBe(201)
  })

  it('when the input nests too deep for a recursive walk', async () => {
    const body = `{"type":"jobs","input":${'['.repeat(100_000)}${']'.repeat(100_000)}}`

    expect((await api.call('POST', '/v1/tasks', body)).status).toBe(400)
  })
})

describe('other requests are refused by the path of the field', () => {
  const patchable = [...BAD_WORK, ...BAD_OPTIONS]

  it.each<Bad>(patchable)('PATCH %s: %j', async (field, value, path = field) => {
    const { body } = await api.call('POST', '/v1/tasks', { type: 'jobs' })
    await refused('PATCH', `/v1/tasks/${body.id}`, { [field]: value }, path)
  })

  it.each<Bad>([
    ['kind', undefined],
    ['kind', 'canvas'],
    ['steps', []],
    ['onCancel', 'maybe'],
    ['ordering', 'random'],
    ['shards', 0],
    ['shards', 65],
    ['webhook', { url: 'ftp://x' }, 'webhook.url'],
    ['webhook', { url: 'javascript:alert(1)' }, 'webhook.url'],
    ['webhook', { url: 'https://user:password@example.com/' }, 'webhook.url'],
    ['webhook', { url: 'https://token@example.com/' }, 'webhook.url'],
    ['webhook', { url: 'https://:password@example.com/' }, 'webhook.url'],
    ['webhook', { timeoutMs: 0 }, 'webhook.timeoutMs'],
    ['webhook', {}],
    ['limits', { rate: { limit: 0, perMs: 1_000 } }, 'limits.rate.limit'],
    ['limits', { rate: { limit: 1 } }, 'limits.rate.perMs'],
    ['limits', { rate: { limit: 1, perMs: 99 } }, 'limits.rate.perMs'],
    ['limits', { rate: { limit: 1, perMs: 1_000, key: '' } }, 'limits.rate.key'],
    ['limits', { concurrency: { max: 1.5 } }, 'limits.concurrency.max'],
    ['limits', { concurrency: { max: 1_001 } }, 'limits.concurrency.max'],
    ['limits', { speed: 1 }, 'limits.speed'],
    ['steps', []],
    ['paused', true],
    ...BAD_OPTIONS.map(
      ([field, value, path = field]): Bad => ['defaults', { [field]: value }, `defaults.${path}`],
    ),
  ])('PUT of a type, %s: %j', async (field, value, path = field) => {
    const body = { kind: 'http', ...{ [field]: value } }
    await refused('PUT', '/v1/types/other', body, path)
  })

  it('PUT of a type with an illegal name', async () => {
    await refused('PUT', '/v1/types/a%20b', { kind: 'http' }, 'type')
  })

  it.each<Bad>([
    ['type', undefined],
    ['type', ''],
    ['types', ['jobs']],
    ['workerId', undefined],
    ['workerId', ''],
    ['limit', 0],
    ['limit', 101],
    ['workerVersion', 'x'],
    ['requestId', ''],
    ['waitMs', 20_001],
    ['stage', 'x'],
  ])('a claim, %s: %j', async (field, value) => {
    const path = field === 'types' ? 'type' : field
    await refused('POST', '/v1/claims', { type: 'jobs', workerId: 'w', [field]: value }, path)
  })

  it.each<[string, object, string]>([
    ['heartbeat', {}, 'fence'],
    ['heartbeat', { fence: 0 }, 'fence'],
    ['heartbeat', { fence: 1e300 }, 'fence'],
    ['succeed', { fence: 1, next: {} }, 'next.stage'],
    ['succeed', { fence: 1, next: { stage: '' } }, 'next.stage'],
    ['succeed', { fence: 1, next: { stage: 'b', delayMs: -1 } }, 'next.delayMs'],
    ['succeed', { fence: 1, next: { stage: 'a\nb' } }, 'next.stage'],
    ['succeed', { fence: 1, next: { stage: 'x'.repeat(101) } }, 'next.stage'],
    ['succeed', { fence: 1, next: { stage: 'b', delayMs: 8.65e15 } }, 'next.delayMs'],
    ['succeed', { fence: 1, next: { stage: 'b', priority: 1.5 } }, 'next.priority'],
    ['succeed', { fence: 1, next: { stage: 'b', priority: 1e10 } }, 'next.priority'],
    ['fail', { fence: 1 }, 'error'],
    ['fail', { fence: 1, error: 'no' }, 'error'],
    ['fail', { fence: 1, error: { name: 'E' } }, 'error.message'],
    ['fail', { fence: 1, error: { name: 'E', message: 'm', code: 1 } }, 'error.code'],
    ['fail', { fence: 1, error: { name: 'E', message: 'm' }, retryInMs: -1 }, 'retryInMs'],
    ['fail', { fence: 1, error: { name: 'E', message: 'm' }, retryInMs: 8.65e15 }, 'retryInMs'],
    ['release', { fence: 1, delayMs: 1.5 }, 'delayMs'],
    ['release', { fence: 1, delayMs: 8.65e15 }, 'delayMs'],
  ])('the report of a run, %s %j', async (word, body, path) => {
    await refused('POST', `/v1/tasks/jobs:a/runs/x/${word}`, body, path)
  })

  it.each<[string, string]>([
    ['type=jobs&status=done', 'status'],
    ['type=jobs&status=ready&status=x', 'status'],
    ['type=jobs&order=name', 'order'],
    ['type=jobs&limit=0', 'limit'],
    ['type=jobs&limit=101', 'limit'],
    ['type=jobs&limit=ten', 'limit'],
    ['type=jobs&limit=', 'limit'],
    ['type=jobs&limit=1&limit=2', 'limit'],
    ['userId=u&userId=u', 'userId'],
    ['userId=', 'userId'],
    ['userId=%00', 'userId'],
    ['type=jobs&canvasId=', 'canvasId'],
    ['type=jobs&page=2', 'page'],
    ['type=jobs&cursor=abc', 'cursor'],
  ])('a list with %j', async (query, path) => {
    await refused('GET', `/v1/tasks?${query}`, undefined, path)
  })

  it('a retry with an unknown action', async () => {
    await refused('POST', '/v1/tasks/jobs:a/retry', { action: 'again' }, 'action')
    await refused('POST', '/v1/tasks/jobs:a/retry', { clean: ['all'] }, 'clean.0')
    await refused('POST', '/v1/tasks/jobs:a/cancel', { force: true }, 'force')
  })
})

describe('an unknown parameter of a query', () => {
  it.each(
    ALL_OPERATIONS.map(({ method, path }) => [
      method.toUpperCase(),
      path.replace('{runId}', '01AAAAAAAAAAAAAAAAAAAAAAAA.1').replace(/{\w+}/g, 'jobs:a'),
    ]),
  )('is refused by name at %s %s', async (method, path) => {
    await refused(method, `${path}?surprise=1`, undefined, 'surprise')
  })
})

describe('a batch', () => {
  it('names the member and its field, and publishes the others', async () => {
    const { status, body } = await api.call('POST', '/v1/tasks/batch', {
      tasks: [
        { type: 'jobs' },
        { type: 'jobs', retry: { maxRetries: 'three' } },
        null,
        { type: 'jobs', input: 6.02e23 },
        { type: 'nobody' },
        { type: 'jobs', concurrency: 2, workerIds: ['a'] },
        { type: 'jobs', input: 'x'.repeat(360_000) },
        { type: 'jobs', delayMs: 1 },
      ],
    })

    expect(status).toBe(200)
    expect(body.results.map((result: { status: number }) => result.status)).toEqual([
      201, 400, 400, 201, 404, 400, 413, 201,
    ])
    const paths = body.results.map((result: Shown) => result.problem?.errors[0].path)
    expect(paths).toEqual([
      undefined,
      'tasks.1.retry.maxRetries',
      'tasks.2',
      undefined,
      'tasks.4.type',
      'tasks.5.concurrency',
      'tasks.6.input',
      undefined,
    ])
  })

  it('names a number that would lose digits', async () => {
    const body = '{"tasks":[{"type":"jobs","input":[9007199254740993]}]}'

    const answer = await api.call('POST', '/v1/tasks/batch', body)

    expect(answer.body.results[0].problem.errors).toEqual([
      { path: 'tasks.0.input.0', message: expect.stringContaining('lose digits') },
    ])
  })

  it('has a path of its own, which the path of a single publish names', async () => {
    const { status, body } = await api.call('POST', '/v1/tasks', { tasks: [{ type: 'jobs', key: 'stray' }] })

    expect(status).toBe(400)
    expect(body.errors).toEqual([{ path: 'tasks', message: expect.stringContaining('POST /v1/tasks/batch') }])
    expect((await api.call('GET', '/v1/tasks/jobs:stray')).status).toBe(404)
  })

  it('without members is refused, and the answer names the field', async () => {
    await refused('POST', '/v1/tasks/batch', { tasks: [] }, 'tasks')
    await refused('POST', '/v1/runs/finish', { runs: [] }, 'runs')
    await refused('POST', '/v1/runs/heartbeat', { runs: [] }, 'runs')
  })

  it('of more than 100 members, or next to other fields, is refused as a whole', async () => {
    const tasks = Array.from({ length: 101 }, () => ({ type: 'jobs' }))
    await refused('POST', '/v1/tasks/batch', { tasks }, 'tasks')
    await refused('POST', '/v1/tasks/batch', { tasks: [], type: 'jobs' }, 'type')
    await refused('POST', '/v1/tasks/batch', { tasks: {} }, 'tasks')
    await refused('POST', '/v1/runs/finish', { runs: Array.from({ length: 101 }, () => null) }, 'runs')
  })
})

describe('a random request', () => {
  const json = fc.jsonValue({ maxDepth: 3 })
  const known = [
    'type',
    'key',
    'input',
    'tasks',
    'retry',
    'delayMs',
    'dueAt',
    'ifExists',
    'workerIds',
    'runs',
  ]
  const more = [
    'types',
    'workerId',
    'limit',
    'fence',
    'error',
    'kind',
    'defaults',
    'webhook',
    'outcome',
    'taskId',
  ]
  const body = fc.dictionary(fc.constantFrom(...known, ...more), fc.oneof(json, fc.constant('jobs')))
  const call = fc.constantFrom(
    ['POST', '/v1/tasks'],
    ['PATCH', '/v1/tasks/jobs:a'],
    ['POST', '/v1/tasks/jobs:a/retry'],
    ['PUT', '/v1/types/jobs'],
    ['POST', '/v1/claims'],
    ['POST', '/v1/runs/heartbeat'],
    ['POST', '/v1/runs/finish'],
    ['POST', '/v1/tasks/jobs:a/runs/01ARZ3NDEKTSV4RRFFQ69G5FAV.1/fail'],
  )

  it('never causes a server error', async () => {
    await api.call('POST', '/v1/tasks', { type: 'jobs', key: 'a' })
    await fc.assert(
      fc.asyncProperty(call, fc.oneof(body, json), async ([method, path], sent) => {
        const { status } = await api.call(method ?? '', path ?? '', JSON.stringify(sent))
        return status < 500
      }),
      { numRuns: 400 },
    )
  })

  it('never causes a server error as path, query or plain text', async () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(text, async sent => {
        const encoded = encodeURIComponent(sent.toWellFormed())
        const answers = [
          await api.call('GET', `/v1/tasks/${encoded}`),
          await api.call('GET', `/v1/tasks?type=jobs&cursor=${encoded}`),
          await api.call('GET', `/v1/types?cursor=${encoded}`),
          await api.call('PUT', `/v1/types/${encoded}`, { kind: 'http' }),
          await api.call('DELETE', `/v1/tasks/jobs:${encoded}`),
          await api.call('POST', '/v1/tasks', sent),
        ]
        return answers.every(({ status }) => status < 500)
      }),
      { numRuns: 200 },
    )
  })
})
