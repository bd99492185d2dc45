import { describe, expect, it } from 'vitest'
import { readTask } from '../../../../shared/runtime/kernel/heads.ts'
import { anApiPerTest, claimed, published, reported, type Shown } from '../../../support/http/an-api.ts'
import { MINUTE } from '../../../support/tasks/a-task.ts'
import { aTaskStore } from '../../../support/worlds/memory-system.ts'

const api = anApiPerTest()

/** Ways to bring `jobs:k` into a state before it is published again. */
const STATES = {
  nothing: async () => {},
  delayed: async () => void (await published(api, { key: 'k', input: 'old', delayMs: MINUTE })),
  ready: async () => void (await published(api, { key: 'k', input: 'old' })),
  running: async () => {
    await STATES.ready()
    await claimed(api)
  },
  succeeded: async () => {
    await STATES.ready()
    await reported(api, 'succeed', { result: 'old result' })
  },
  failed: async () => {
    await STATES.ready()
    await reported(api, 'fail', { fatal: true })
  },
  cancelled: async () => {
    await STATES.ready()
    await api.call('POST', '/v1/tasks/jobs:k/cancel')
  },
  removed: async () => {
    await STATES.ready()
    await api.call('DELETE', '/v1/tasks/jobs:k')
  },
  expired: async () => {
    await STATES.succeeded()
    await api.system.clock.advance(7 * 24 * 60 * MINUTE)
  },
}

type State = keyof typeof STATES

it.each([
  ['publish', 'POST', '/v1/tasks', { type: 'jobs', key: 'odd' }],
  ['patch', 'PATCH', '/v1/tasks/jobs:odd', {}],
])('a tag named __proto__ is kept as it is given: %s', async (_name, method, path, body) => {
  if (method === 'PATCH') await published(api, { key: 'odd' })
  const tags = JSON.parse('{"__proto__": "yes", "constructor": "too"}')

  await api.call(method, path, { ...body, tags })

  expect(JSON.stringify((await api.task('jobs:odd')).tags)).toBe(JSON.stringify(tags))
})

describe('publishing a key', () => {
  /** State before, `ifExists`, the answer's status, the task's status and input afterwards. */
  it.each<[State, string, number, string, string]>([
    ['nothing', 'keep', 201, 'ready', 'new'],
    ['nothing', 'update', 201, 'ready', 'new'],
    ['nothing', 'reject', 201, 'ready', 'new'],
    ['nothing', 'restart', 201, 'ready', 'new'],
    ['removed', 'keep', 201, 'ready', 'new'],
    ['removed', 'reject', 201, 'ready', 'new'],
    ['expired', 'keep', 201, 'ready', 'new'],
    ['delayed', 'keep', 200, 'delayed', 'old'],
    ['ready', 'keep', 200, 'ready', 'old'],
    ['running', 'keep', 200, 'running', 'old'],
    ['succeeded', 'keep', 200, 'succeeded', 'old'],
    ['failed', 'keep', 200, 'failed', 'old'],
    ['cancelled', 'keep', 200, 'cancelled', 'old'],
    ['delayed', 'update', 200, 'ready', 'new'],
    ['ready', 'update', 200, 'ready', 'new'],
    ['running', 'update', 200, 'running', 'old'],
    ['succeeded', 'update', 200, 'succeeded', 'old'],
    ['failed', 'update', 200, 'failed', 'old'],
    ['delayed', 'reject', 200, 'delayed', 'old'],
    ['ready', 'reject', 200, 'ready', 'old'],
    ['running', 'reject', 409, 'running', 'old'],
    ['succeeded', 'reject', 200, 'succeeded', 'old'],
    ['delayed', 'restart', 200, 'ready', 'new'],
    ['ready', 'restart', 200, 'ready', 'new'],
    ['running', 'restart', 409, 'running', 'old'],
    ['succeeded', 'restart', 200, 'ready', 'new'],
    ['failed', 'restart', 200, 'ready', 'new'],
    ['cancelled', 'restart', 200, 'ready', 'new'],
  ])(
    'that is %s with %s is answered with %d and leaves it %s with the %s input',
    async (state, ifExists, status, after, input) => {
      await STATES[state]()

      const answer = await api.call('POST', '/v1/tasks', { type: 'jobs', key: 'k', input: 'new', ifExists })

      expect(answer.status).toBe(status)
      if (status < 300)
        expect(answer.body).toMatchObject({ id: 'jobs:k', created: status === 201, task: { status: after } })
      expect(await api.task('jobs:k')).toMatchObject({ status: after, input })
    },
  )

  it('of a running task is refused with ifExists reject, and the answer names the worker', async () => {
    await STATES.running()
    const { body } = await api.call('POST', '/v1/tasks', { type: 'jobs', key: 'k', ifExists: 'reject' })

    expect(body.detail).toContain('w1')
  })

  it('again with restart forgets its runs, unless clean says otherwise', async () => {
    await STATES.failed()
    await api.call('POST', '/v1/tasks', { type: 'jobs', key: 'k', ifExists: 'restart', clean: [] })
    expect((await api.task('jobs:k')).runs).toMatchObject([{ fence: 1, state: 'failed' }])

    await api.call('POST', '/v1/tasks', { type: 'jobs', key: 'k', ifExists: 'restart' })
    expect((await api.task('jobs:k')).runs).toEqual([])
    expect((await claimed(api)).fence).toBe(2)
  })
})

describe('a published task', () => {
  it('shows the request’s fields and the defaults of its type and of the system', async () => {
    await api.call('PUT', '/v1/types/jobs', {
      kind: 'http',
      defaults: { priority: 5, leaseMs: 3_000, retry: { maxRetries: 1 } },
    })
    const { status, body, headers } = await api.call('POST', '/v1/tasks', {
      type: 'jobs',
      key: 'a/b',
      input: { deep: [{ null: null, '': '' }] },
      userId: 'u1',
      tags: { team: 'red' },
      delayMs: 1_500,
      retry: { backoff: 'fixed', delayMs: 120_000 },
    })

    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`/v1/tasks/~${Buffer.from('jobs:a/b').toString('base64url')}`)
    expect(body.task).toMatchObject({
      id: 'jobs:a/b',
      status: 'delayed',
      statusReason: 'due',
      dueAt: '2026-01-01T12:00:01.500Z',
      priority: 5,
      userId: 'u1',
      tags: { team: 'red' },
      input: { deep: [{ null: null, '': '' }] },
      attempts: { used: 0, left: 2 },
      history: [],
      runs: [],
      options: {
        heartbeatMs: 1_000,
        leaseMs: 3_000,
        retry: { maxRetries: 1, backoff: 'fixed', delayMs: 120_000, maxDelayMs: 120_000 },
      },
    })
    expect(await api.task('jobs:a/b')).toEqual(body.task)
  })

  it('takes its trace from the body, else from the header, else begins one', async () => {
    const [one, two] = ['1', '2'].map(digit => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`)
    const publish = async (body: object, headers = {}) => {
      const answer = await api.call('POST', '/v1/tasks', { type: 'jobs', ...body }, headers)
      return answer.body.task.traceId
    }

    expect(await publish({ traceparent: one }, { traceparent: two })).toBe('1'.repeat(32))
    expect(await publish({}, { traceparent: two })).toBe('2'.repeat(32))
    expect(await publish({}, { traceparent: 'nonsense' })).toMatch(/^[0-9a-f]{32}$/)
    expect(await publish({})).toMatch(/^[0-9a-f]{32}$/)
  })

  it.each([
    ['null', null],
    ['an empty text', ''],
    ['a list', []],
    ['false', false],
    ['zero', 0],
    ['the largest number', Number.MAX_SAFE_INTEGER],
  ])('keeps %s as input exactly', async (_name, input) => {
    expect((await api.task(await published(api, { input }))).input).toEqual(input)
  })

  it('of a type without a deployed handler shows that it waits for one', async () => {
    const { body } = await api.call('POST', '/v1/tasks', { type: 'resize' })

    expect(body.task).toMatchObject({ status: 'ready', statusReason: 'no-handler' })
  })

  it('with a lease shorter than its type’s heartbeat interval gets a shorter interval', async () => {
    const id = await published(api, { leaseMs: 300 })

    expect((await api.task(id)).options).toMatchObject({ leaseMs: 300, heartbeatMs: 100 })
  })
})

describe('a large input', () => {
  const input = { text: 'x'.repeat(5_000) }

  it('is shown by GET, but not by answers that would have to read it', async () => {
    const created = await api.call('POST', '/v1/tasks', { type: 'jobs', key: 'k', input })
    const again = await api.call('POST', '/v1/tasks', { type: 'jobs', key: 'k', input })

    expect(created.body.task.input).toEqual(input)
    expect(again.body.task).not.toHaveProperty('input')
    expect((await api.task('jobs:k')).input).toEqual(input)
  })

  it('of a duplicate is not written', async () => {
    const store = aTaskStore()
    const written: string[] = []
    const apply: typeof store.apply = change => {
      written.push(...change.bodies.map(({ ref }) => ref))
      return store.apply(change)
    }
    await api.renew({ tasks: { ...store, apply } })
    await published(api, { key: 'k', input })
    await published(api, { key: 'k', input })

    expect(written).toHaveLength(1)
  })

  it('of a publish that lost a race is deleted, and the winner’s input stays', async () => {
    const store = aTaskStore()
    const dropped: string[] = []
    await api.renew({
      tasks: {
        ...store,
        // Neither publish sees the other's task before writing.
        head: async () => undefined,
        dropBodies: async (id, bodies) => {
          dropped.push(...bodies.map(({ ref }) => ref))
          return store.dropBodies(id, bodies)
        },
      },
    })
    const answers = await Promise.all(
      ['one', 'two'].map(text =>
        api.call('POST', '/v1/tasks', { type: 'jobs', key: 'k', input: text.repeat(900) }),
      ),
    )
    const task = await readTask({ tasks: store }, 'jobs:k')

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 201])
    expect(dropped).toHaveLength(1)
    expect(task?.input && 'ref' in task.input && (await store.body('jobs:k', task.input.ref))).toMatch(
      /^(one|two){900}$/,
    )
  })
})

describe('a batch', () => {
  it('creates the first task of each key, and leaves inputs out of its answer', async () => {
    const tasks = [...Array(100).keys()].map(n => ({ type: 'jobs', key: `k${n % 50}`, input: n }))
    const { status, body } = await api.call('POST', '/v1/tasks/batch', { tasks })

    expect(status).toBe(200)
    expect(body.results.map((result: Shown) => result.status)).toEqual([
      ...Array(50).fill(201),
      ...Array(50).fill(200),
    ])
    expect(body.results[0].task).not.toHaveProperty('input')
    expect((await api.task('jobs:k7')).input).toBe(7)
  })

  it('reads each type once', async () => {
    let reads = 0
    const { types } = api.system
    await api.renew({
      types: {
        ...types,
        get: type => {
          reads++
          return types.get(type)
        },
      },
    })
    reads = 0
    await api.call('POST', '/v1/tasks/batch', { tasks: Array(50).fill({ type: 'jobs' }) })

    expect(reads).toBe(1)
  })
})
