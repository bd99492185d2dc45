import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import type { Task } from '../../../../shared/core/task/task.ts'
import { readTask } from '../../../../shared/runtime/kernel/heads.ts'
import { planChanges } from '../../../../shared/runtime/stream/stream.ts'
import { anApi, expectRefused, type Shown, type TestApi } from '../../../support/http/an-api.ts'

/** An API with types claimed over HTTP that a test serves as their names say. */
async function arithmetic(): Promise<TestApi> {
  const api = await anApi()
  const defaults = { retry: { maxRetries: 0 } }
  for (const type of ['add', 'boom', 'tell']) {
    await api.call('PUT', `/v1/types/${type}`, { kind: 'http', defaults })
  }
  return api
}

const WORK = {
  add: (numbers: number[]) => ({ result: numbers.reduce((a, b) => a + b, 0) }),
  tell: (words: unknown) => ({ result: words }),
  boom: () => ({ error: { name: 'Boom', message: 'no such luck' } }),
} as Record<string, (input: Shown) => { result?: unknown; error?: unknown }>

/** Claims, runs and plans tasks until none is left. Returns the claimed inputs by type. */
async function work({ call, system }: TestApi): Promise<Shown[]> {
  const done: Shown[] = []
  for (;;) {
    const claimed = await call('POST', '/v1/claims', { types: Object.keys(WORK), workerId: 'w1', limit: 10 })
    if (claimed.body.claims.length === 0) return done
    const ended: Task[] = []
    for (const { task, run } of claimed.body.claims) {
      const outcome = WORK[task.type]?.(task.input) ?? {}
      const word = outcome.error ? 'fail' : 'succeed'
      await call('POST', `${pathOf('get', task.id)}/runs/${run.id}/${word}`, { fence: run.fence, ...outcome })
      done.push(task)
      const head = await readTask(system, task.id)
      if (head) ended.push(head)
    }
    await planChanges(
      system,
      ended.map((task, index) => ({ task, position: String(index) })),
    )
  }
}

const add = (...input: number[]) => ({ type: 'add', input })
const long = (length: number) => ({ type: 'add', input: 'x'.repeat(length) })
const sums = [add(1, 1), add(2, 2), add(5, 6)]

async function publish({ call }: TestApi, body: object) {
  const answer = await call('POST', '/v1/canvases', body)
  if (answer.status > 202) throw new Error(JSON.stringify(answer.body))
  return answer.body
}

async function read({ call }: TestApi, id: string, query = '') {
  return (await call('GET', `/v1/canvases/${encodeURIComponent(id)}${query}`)).body
}

describe('GET /v1/canvases', () => {
  it('lists canvases, the latest first, with their form and progress, page by page and by status', async () => {
    const api = await arithmetic()
    const list = async (query = '') => (await api.call('GET', `/v1/canvases${query}`)).body
    await publish(api, { key: 'done', chain: [add(1, 1)] })
    await publish(api, { key: 'broken', group: [{ type: 'boom' }] })
    await work(api)
    await api.system.clock.advance(1_000)
    await publish(api, { key: 'half', chain: [add(2, 2), { type: 'jobs' }] })
    await work(api)

    const page = await list('?limit=2')
    const rest = await list(`?limit=2&cursor=${page.nextCursor}`)
    const items = [...page.items, ...rest.items]
    expect(items[0]).toMatchObject({
      id: 'canvas:half',
      form: 'chain',
      status: 'running',
      tasks: 2,
      ended: 1,
    })
    expect(items.map(({ key }) => key).sort()).toEqual(['broken', 'done', 'half'])
    expect(rest.nextCursor).toBeUndefined()
    expect((await list('?status=failed')).items).toMatchObject([
      { key: 'broken', form: 'group', error: { name: 'Boom' }, finishedAt: expect.any(String) },
    ])
    await expectRefused(api.call('GET', `/v1/canvases?status=failed&cursor=${page.nextCursor}`), 'cursor')
  })
})

describe('POST /v1/canvases', () => {
  it('creates a canvas and the tasks that can start, and returns the ids of all tasks', async () => {
    const api = await arithmetic()

    const { status, body, headers } = await api.call('POST', '/v1/canvases', {
      chain: [add(2, 2), add(5, 6)],
    })

    expect(status).toBe(201)
    expect(body).toMatchObject({ id: expect.stringMatching(/^canvas:/), created: true })
    expect(body.taskIds).toHaveLength(2)
    expect(headers.get('location')).toBe(`/v1/canvases/${encodeURIComponent(body.id)}`)
    const first = await api.call('GET', pathOf('get', body.taskIds[0]))
    expect(first.body).toMatchObject({ status: 'ready', canvasId: body.id })
    expect((await api.call('GET', pathOf('get', body.taskIds[1]))).status).toBe(404)
  })

  it('creates nothing when its key exists', async () => {
    const api = await arithmetic()
    const first = await api.call('POST', '/v1/canvases', { key: 'k', group: sums })

    const second = await api.call('POST', '/v1/canvases', { key: 'k', chain: [add(9)] })

    expect([first.status, second.status]).toEqual([201, 200])
    expect(second.body).toEqual({ ...first.body, created: false })
  })

  it('leaves more than 1,000 tasks to the jobs function', async () => {
    const api = await arithmetic()

    const { status, body } = await api.call('POST', '/v1/canvases', {
      group: Array.from({ length: 1_001 }, (_, n) => add(n)),
    })

    expect(status).toBe(202)
    expect(body).toEqual({ id: expect.any(String), created: true })
    expect(await read(api, body.id)).toMatchObject({ status: 'running', items: expect.any(Array) })
  })

  it('returns the ids of 1,000 members, and of the callbacks of a chord of 1,000 members', async () => {
    const api = await arithmetic()
    const group = Array.from({ length: 1_000 }, (_, n) => add(n))

    const { status, body } = await api.call('POST', '/v1/canvases', {
      chord: { group, then: add(), onError: add() },
    })

    expect(status).toBe(201)
    expect(body.taskIds).toHaveLength(1_002)
    expect((await api.call('GET', pathOf('get', body.taskIds[999]))).body.status).toBe('ready')
  })

  it('gives its user to tasks that name none, and its trace to all tasks', async () => {
    const api = await arithmetic()
    const trace = '0af7651916cd43dd8448eb211c80319c'

    const { body } = await api.call(
      'POST',
      '/v1/canvases',
      { userId: 'ann', group: [add(1), { ...add(2), userId: 'bob' }] },
      { traceparent: `00-${trace}-b7ad6b7169203331-01` },
    )

    const tasks = await Promise.all(body.taskIds.map((id: string) => api.call('GET', pathOf('get', id))))
    expect(tasks.map(({ body }: Shown) => [body.userId, body.traceId])).toEqual([
      ['ann', trace],
      ['bob', trace],
    ])
  })

  it.each<[string, object, string, status?: number]>([
    ['a body without a composition', {}, ''],
    ['two compositions at once', { chain: [add(1)], group: [add(2)] }, 'group'],
    ['an empty chain', { chain: [] }, 'chain'],
    ['an empty group within', { chain: [add(1), { group: [] }] }, 'chain.1.group'],
    ['a chord without a callback', { chord: { group: [add(1)] } }, 'chord.then'],
    ['a chord with a surplus field', { chord: { group: [add(1)], then: add(), after: 1 } }, 'chord.after'],
    ['an unknown field', { chain: [add(1)], colour: 'red' }, 'colour'],
    ['a member with a key', { chain: [{ ...add(1), key: 'k' }] }, 'chain.0.key'],
    ['a member with ifExists', { group: [{ ...add(1), ifExists: 'keep' }] }, 'group.0.ifExists'],
    ['a debounced member', { group: [{ ...add(1), debounce: { ms: 1 } }] }, 'group.0.debounce'],
    ['a throttled member', { group: [{ ...add(1), throttle: { perMs: 1 } }] }, 'group.0.throttle'],
    ['a member that is a task and a chain', { chain: [{ ...add(1), chain: [add(2)] }] }, 'chain.0.type'],
    ['a member that is not an object', { chain: ['add'] }, 'chain.0'],
    [
      'a wrong option',
      { chain: [add(1), { ...add(2), retry: { maxDelayMs: -1 } }] },
      'chain.1.retry.maxDelayMs',
    ],
    [
      'options that contradict each other',
      { chain: [{ ...add(1), heartbeatMs: 5_000, leaseMs: 100 }] },
      'chain.0.heartbeatMs',
    ],
    ['an unknown type', { chord: { group: [add(1)], then: { type: 'nope' } } }, 'chord.then.type', 404],
    ['the reserved type', { chain: [{ type: 'canvas' }] }, 'chain.0.type', 404],
    [
      'an input and callbacks that are too long together',
      { group: [{ ...long(200_000), onError: [long(200_000)] }] },
      'group.0',
      413,
    ],
    ['an input that is too long', { group: [long(360_000)] }, 'group.0.input', 413],
    ['an illegal sendConcurrency', { chain: [add(1)], sendConcurrency: 0 }, 'sendConcurrency'],
  ])('refuses %s by its path', async (_name, body, path, status) => {
    const api = await arithmetic()
    await expectRefused(api.call('POST', '/v1/canvases', body), path, status)
  })

  it('refuses a canvas that nests too deep, without overflowing the stack', async () => {
    const api = await arithmetic()
    const nested = (depth: number): object => (depth === 0 ? add(1) : { chain: [nested(depth - 1)] })

    const deep = await api.call('POST', '/v1/canvases', nested(89))
    const deeper = await api.call('POST', '/v1/canvases', nested(95))
    const text = `${'{"chain":['.repeat(5_000)}${']}'.repeat(5_000)}`
    const deepest = await api.call('POST', '/v1/canvases', text)

    expect([deep.status, deeper.status, deepest.status]).toEqual([201, 400, 400])
  })
})

describe('a canvas that succeeds', () => {
  it('shows in claims what was handed on; the task keeps the input it was published with', async () => {
    const api = await arithmetic()
    const { taskIds } = await publish(api, { chain: [add(2, 2), add(5)] })

    const done = await work(api)

    expect(done[1]).toMatchObject({ id: taskIds[1], input: [5, 4], previous: 4 })
    expect((await api.call('GET', pathOf('get', taskIds[1]))).body).toMatchObject({ input: [5], previous: 4 })
  })
})

describe('a failure', () => {
  it('in a chord calls onError once, and never the callback', async () => {
    const api = await arithmetic()
    const chord = {
      group: [{ type: 'boom' }, add(1), { type: 'boom' }],
      then: add(),
      onError: { type: 'tell', input: [] },
    }
    const { id } = await publish(api, { chord })

    const done = await work(api)

    expect(done.filter(({ type }) => type === 'tell').map(({ input }) => input)).toEqual([['no such luck']])
    expect(await read(api, id)).toMatchObject({
      status: 'failed',
      counts: { succeeded: 2, failed: 2, skipped: 1 },
    })
  })

  it.each([
    ['cancelled', 'POST', '/cancel'],
    ['removed', 'DELETE', ''],
  ])('is recorded for a member that was %s', async (_name, method, path) => {
    const api = await arithmetic()
    const { id, taskIds } = await publish(api, { group: [add(1), add(2)] })

    await api.call(method, `${pathOf('get', taskIds[0])}${path}`)
    const head = await readTask(api.system, taskIds[0])
    await planChanges(api.system, head ? [{ task: head, position: '1' }] : [])
    await work(api)

    expect(await read(api, id)).toMatchObject({
      status: 'failed',
      items: [{ status: 'cancelled' }, { status: 'succeeded' }],
    })
  })
})

describe('POST /v1/canvases/{id}/cancel', () => {
  it('cancels the published and the future members, may be repeated, and nothing runs after it', async () => {
    const api = await arithmetic()
    const { id, taskIds } = await publish(api, { chain: [{ group: [add(1), add(2)] }, add(3)] })
    const path = `/v1/canvases/${encodeURIComponent(id)}/cancel`

    const first = await api.call('POST', path)
    const second = await api.call('POST', path)
    const done = await work(api)

    expect([first.status, second.status]).toEqual([200, 200])
    expect(first.body).toMatchObject({ status: 'cancelled', counts: { cancelled: 3 } })
    expect(done).toEqual([])
    expect((await api.call('GET', pathOf('get', taskIds[2]))).body.status).toBe('cancelled')
  })

  it('names no canvas by the id of a task', async () => {
    const api = await arithmetic()

    expect((await api.call('POST', '/v1/canvases/add:1/cancel')).status).toBe(404)
  })
})

describe('GET /v1/canvases/{id}', () => {
  it('pages through the members by path', async () => {
    const api = await arithmetic()
    const { id } = await publish(api, { chain: [{ group: sums }, add(1)] })

    const first = await read(api, id, '?limit=3')
    const second = await read(api, id, `?limit=3&cursor=${first.nextCursor}`)
    const strange = await api.call('GET', `/v1/canvases/${encodeURIComponent(id)}?cursor=abc`)

    expect(first.items.map((one: Shown) => one.path)).toEqual([
      'chain.0.group.0',
      'chain.0.group.1',
      'chain.0.group.2',
    ])
    expect(second.items).toMatchObject([{ path: 'chain.1', status: 'pending' }])
    expect(second.nextCursor).toBeUndefined()
    expect(first.counts).toMatchObject({ ready: 3, pending: 1 })
    expect(strange.status).toBe(400)
  })

  it('and lists of tasks by canvasId show the members of a canvas', async () => {
    const api = await arithmetic()
    const { id, taskIds } = await publish(api, { chain: [{ group: sums }, add(1)] })
    const list = async (query: string) =>
      (await api.call('GET', `/v1/tasks?canvasId=${encodeURIComponent(id)}${query}`)).body

    const first = await list('&limit=2')
    const rest = await list(`&limit=2&cursor=${first.nextCursor}`)
    const backwards = await list('&order=-created')
    await work(api)
    const succeeded = await list('&status=succeeded&order=-due')

    const idsOf = (page: Shown) => page.items.map((one: Shown) => one.id)
    expect([...idsOf(first), ...idsOf(rest)]).toEqual(taskIds.slice(0, 3))
    expect(idsOf(backwards)).toEqual(taskIds.slice(0, 3).toReversed())
    expect(idsOf(succeeded)).toHaveLength(4)
    expect((await api.call('GET', '/v1/tasks?canvasId=canvas:none')).status).toBe(404)
  })
})

describe('the type name of canvases', () => {
  it('is not a task type, and the ids of canvases name no tasks', async () => {
    const api = await arithmetic()
    const { id } = await publish(api, { group: [add(1)] })

    const answers = [
      await api.call('PUT', '/v1/types/canvas', { kind: 'handler' }),
      await api.call('POST', '/v1/tasks', { type: 'canvas', key: 'x' }),
      await api.call('GET', pathOf('get', id)),
      await api.call('DELETE', pathOf('get', id)),
    ]

    expect(answers.map(({ status }) => status)).toEqual([400, 404, 404, 404])
    expect(answers[1]?.body.detail).toContain('/v1/canvases')
    expect(answers[2]?.body.detail).toContain(`/v1/canvases/${encodeURIComponent(id)}`)
  })
})
