import { beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import { createClient } from '../../shared/client/client.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { jsonBytes, textBytes } from '../../shared/core/values/values.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import { countFailures } from '../../shared/runtime/stream/statistics.ts'
import { anApi, type TestApi } from '../support/http/an-api.ts'

const jobs = defineTask('jobs', {
  input: z.object({ width: z.int() }),
  run: async input => ({ bytes: input.width * 2 }),
})

let api: TestApi
let client: ReturnType<typeof createClient>
let requests: Request[]
beforeEach(async () => {
  api = await anApi()
  requests = []
  client = createClient({
    url: 'http://baton.test/',
    headers: async () => ({ authorization: 'me' }),
    fetch: async request => {
      requests.push(request.clone())
      return api.app.request(request)
    },
  })
})

const NOTHING_COUNTED = { positions: ['1'], failed: [] }

async function finishOne(outcome: 'succeed' | 'fail'): Promise<void> {
  const { claims } = await client.claim({ type: 'jobs', workerId: 'w' })
  const [claim] = claims
  if (!claim) throw new Error('nothing to claim')
  const { id, fence } = claim.run
  if (outcome === 'succeed') await client.succeed(claim.task.id, id, { fence, result: { bytes: 4 } })
  else await client.fail(claim.task.id, id, { fence, fatal: true, error: { name: 'Odd', message: 'no' } })
}

describe('the client', () => {
  it('publishes by definition, by name and as a body', async () => {
    const one = await client.publish(jobs, { width: 1 }, { key: 'a/b', priority: 2 })
    const two = await client.publish<typeof jobs>('jobs', { width: 2 })
    const three = await client.publish({ type: 'jobs', key: 'a/b' })

    expect(one).toMatchObject({ id: 'jobs:a/b', created: true, task: { input: { width: 1 }, priority: 2 } })
    expect(two.task.input).toEqual({ width: 2 })
    expect(three.created).toBe(false)
    expect(requests[0]?.headers.get('authorization')).toBe('me')
  })

  it('publishes many tasks in as few requests as fit them', async () => {
    const bodies = (count: number, name: string, input: string) =>
      Array.from({ length: count }, (_, n) => ({ type: 'jobs', key: `${name}${n}`, input }))
    const all = [
      ...bodies(150, 'small', 'x'),
      // 300 KB each: three bytes a character, and one that is two as JSON and four as escaped JSON.
      ...bodies(20, 'wide', '界'.repeat(100_000)),
      ...bodies(20, 'quoted', '"'.repeat(150_000)),
    ]
    const results = await client.publishMany(all)

    expect(results.map(({ id }) => id)).toEqual(all.map(({ key }) => `jobs:${key}`))
    const texts = await Promise.all(requests.map(request => request.text()))
    expect(texts.every(text => textBytes(text) <= 4 * 1024 * 1024)).toBe(true)
    // In Lambda's event the body is escaped.
    expect(texts.every(text => jsonBytes(text) <= 6_200_000)).toBe(true)
    // 100, 50 with 13 wide ones, 7 wide ones with 6 quoted ones, 10 quoted ones, 4.
    expect(requests.length).toBe(5)
  })

  it('lists tasks over several pages', async () => {
    await client.publishMany(Array.from({ length: 50 }, (_, n) => ({ type: 'jobs', key: `${n}` })))
    const keys = []
    for await (const task of client.list({ type: 'jobs', status: ['ready', 'failed'], limit: 20 }))
      keys.push(task.key)

    expect(keys).toHaveLength(50)
    expect((await client.listPage({ type: 'jobs', limit: 2 })).items).toHaveLength(2)
  })

  it('tells why a task waits, and which failures there are', async () => {
    const { id } = await client.publish(jobs, { width: 1 }, { key: 'a/b' })
    await finishOne('fail')
    const failed = await api.system.tasks.head(id)
    if (failed) await countFailures(api.system, [{ task: failed, position: '1' }], NOTHING_COUNTED)

    expect(await client.why(id)).toMatchObject({ id, reason: 'failed', sentence: expect.any(String) })
    await expect(client.why('jobs:b', { canvasId: 'canvas:c' })).rejects.toThrow(/canvas:c has no member/)
    const group = { type: 'jobs', error: 'Odd: no', count: 1, exampleId: id }
    expect((await client.failures()).items).toMatchObject([group])
    expect(await client.failures({ type: ['resize'] })).toEqual({ items: [] })
    const groups = []
    for await (const one of client.allFailures({ type: ['jobs', 'resize'], limit: 1 })) groups.push(one)
    expect(groups).toMatchObject([group])
    const queries = requests.map(({ url }) => new URL(url).search)
    expect(queries).toContain('?canvasId=canvas%3Ac')
    expect(queries).toContain('?limit=1&type=jobs&type=resize')
  })

  it('purges a type', async () => {
    const before = '2025-12-31T00:00:00.000Z'

    const answer = await client.purge('jobs', { status: ['failed', 'delayed'], before })

    expect(answer).toEqual({ type: 'jobs', status: ['failed', 'delayed'], before })
  })

  it('changes tasks and types', async () => {
    const { id } = await client.publish(jobs, { width: 1 }, { key: 'ü' })

    expect((await client.patch(id, { priority: 7 })).priority).toBe(7)
    expect((await client.cancel(id)).status).toBe('cancelled')
    expect((await client.retry(id)).status).toBe('ready')
    expect((await client.counts('jobs')).ready).toBe(1)
    expect((await client.counts('jobs', { atMost: 1 })).ready).toBe(1)
    expect((await client.countsPage({ limit: 1 })).items).toMatchObject([
      { type: 'jobs', counts: { ready: 1 } },
    ])
    expect((await client.activity({ type: ['jobs'] })).items).toMatchObject([{ type: 'jobs' }])
    expect(await client.limits('jobs', { value: 'a' })).toEqual({ type: 'jobs' })
    expect(await client.remove(id)).toBeUndefined()
    expect((await client.putType('more', { kind: 'http' })).type).toBe('more')
    expect((await client.type('more')).kind).toBe('http')
    expect((await client.types({ limit: 2 })).items.map(({ type }) => type)).toEqual(['jobs', 'more'])
  })

  it('claims, renews and ends runs as a worker', async () => {
    await client.publishMany(['a', 'b', 'c'].map(key => ({ type: 'jobs', key })))
    const { claims } = await client.claim({ types: ['jobs'], workerId: 'w', limit: 3 })
    const [one, ...others] = claims.map(({ task, run }) => ({
      taskId: task.id,
      runId: run.id,
      fence: run.fence,
    }))
    if (!one) throw new Error('nothing claimed')

    expect((await client.heartbeat(one.taskId, one.runId, { fence: 1 })).options.leaseMs).toBe(15_000)
    expect((await client.release(one.taskId, one.runId, { fence: 1 })).status).toBe('ready')
    expect(await client.heartbeatMany(others)).toMatchObject([{ status: 200 }, { status: 200 }])
    const ends = await client.finishMany(others.map(run => ({ ...run, outcome: 'succeed' as const })))
    expect(ends.map(({ task }) => task?.status)).toEqual(['succeeded', 'succeeded'])
  })
})

describe('waiting for a result', () => {
  it('returns the result, typed by the definition', async () => {
    const { id } = await client.publish(jobs, { width: 2 })
    const waiting = client.result(jobs, id, { timeoutMs: 5_000 })
    await finishOne('succeed')
    const result = await waiting

    expectTypeOf(result).toEqualTypeOf<{ bytes: number }>()
    expect(result).toEqual({ bytes: 4 })
  })

  it('throws when the task fails, is missing, or takes too long', async () => {
    const { id } = await client.publish(jobs, { width: 2 })
    await expect(client.result('jobs', id, { timeoutMs: 60 })).rejects.toMatchObject({
      status: 408,
      problem: { detail: expect.stringContaining('ready') },
    })
    await finishOne('fail')

    const failure = await client.result(jobs, id).catch(error => error)
    expect(failure).toBeInstanceOf(ProblemError)
    expect(failure.problem).toMatchObject({
      type: 'urn:baton:problem:task-failed',
      detail: expect.stringContaining('Odd: no'),
    })
    await expect(client.result(jobs, 'jobs:none')).rejects.toMatchObject({ status: 404 })
  })
})

describe('the client throws a ProblemError', () => {
  it('with the problem document of the API', async () => {
    const error = await client.publish({ type: 'jobs', delayMs: -1 }).catch(problem => problem)

    expect(error).toBeInstanceOf(ProblemError)
    expect(error).toMatchObject({ status: 400, problem: { errors: [{ path: 'delayMs' }] } })
  })

  it.each([
    [502, '<html>Bad Gateway</html>'],
    [403, '{"message":"Forbidden"}'],
  ])('for an answer of a gateway or proxy without a problem document, status %d', async (status, text) => {
    const behind = createClient({
      url: 'http://x',
      tries: 1,
      fetch: async () => new Response(text, { status }),
    })

    await expect(behind.get('a:b')).rejects.toMatchObject({ status, problem: { type: 'about:blank' } })
  })

  it('for a failure of the network, with its cause', async () => {
    const cause = new TypeError('fetch failed')
    const offline = createClient({ url: 'http://x', tries: 1, fetch: () => Promise.reject(cause) })

    await expect(offline.get('a:b')).rejects.toMatchObject({ status: 0, cause })
  })
})
