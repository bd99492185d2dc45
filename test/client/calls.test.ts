import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../shared/client/client.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import type { ClientSettings } from '../../shared/client/send.ts'
import { chain } from '../../shared/define/canvases.ts'
import { defineTask } from '../../shared/define/define-task.ts'

const resize = defineTask('resize', {
  input: z.object({ width: z.string().transform(Number).pipe(z.int()) }),
  run: ({ width }) => ({ width }),
})

type Step = Response | Error | 'hangs'

/** A client whose requests meet these steps in turn, and the last one for ever. Time passes by itself while it waits. */
function aClient(steps: readonly Step[], settings: ClientSettings = {}) {
  const requests: Request[] = []
  const client = createClient({
    url: 'http://baton.test',
    fetch: async request => {
      const step = steps[Math.min(requests.length, steps.length - 1)]
      requests.push(request.clone())
      if (step instanceof Error) throw step
      if (step === 'hangs' || !step) {
        return new Promise((_, reject) => {
          request.signal.addEventListener('abort', () => reject(request.signal.reason))
        })
      }
      return step.clone()
    },
    ...settings,
  })
  const bodies = () =>
    Promise.all(requests.map(async request => (await request.json()) as Record<string, unknown>))
  return { client, requests, bodies }
}

const answer = (body: object, status = 200, headers = {}) => Response.json(body, { status, headers })
const published = answer({ id: 'resize:a', created: false, task: {} })
const network = new TypeError('fetch failed')
/** An answer whose body never arrives. */
const broken = (status: number) => {
  const text = () => Promise.reject(new TypeError('terminated'))
  const response = Object.assign(new Response('', { status }), { text })
  return Object.assign(response, { clone: () => response })
}
const outage = answer({ message: 'Service Unavailable' }, 503)

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 20 })
})
afterEach(() => {
  vi.useRealTimers()
})

/** The error of a call, while time passes. */
async function errorOf(call: Promise<unknown>): Promise<ProblemError> {
  const error = call.then(
    () => undefined,
    problem => problem,
  )
  await vi.advanceTimersByTimeAsync(120_000)
  return error
}

async function done<Result>(call: Promise<Result>): Promise<Result> {
  void call.catch(() => undefined)
  await vi.advanceTimersByTimeAsync(120_000)
  return call
}

describe('a request is sent again', () => {
  it.each([
    ['a network that fails', network],
    ['an outage of a gateway', answer({}, 502)],
    ['a store that does not answer', outage],
    ['too many requests', answer({}, 429)],
  ])('after %s', async (_name, failure) => {
    const { client, requests } = aClient([failure, failure, answer({ id: 'resize:a' })])

    expect(await done(client.get('resize:a'))).toEqual({ id: 'resize:a' })
    expect(requests).toHaveLength(3)
  })

  it('not before the time that the API names', async () => {
    const { client, requests } = aClient([answer({}, 429, { 'retry-after': '7' }), answer({})])
    const call = client.get('a:b')

    await vi.advanceTimersByTimeAsync(6_900)
    expect(requests).toHaveLength(1)
    await done(call)
    expect(requests).toHaveLength(2)
  })

  it('as often as the options say, and the last failure is thrown', async () => {
    const { client, requests } = aClient([network], { tries: 2 })

    expect(await errorOf(client.get('a:b'))).toMatchObject({ code: 'no-answer', cause: network })
    expect(requests).toHaveLength(2)
    await errorOf(client.get('a:b', { tries: 4 }))
    expect(requests).toHaveLength(6)
  })

  it('with the key that the client made, and the task counts as created', async () => {
    const { client, bodies } = aClient([network, published])

    const handle = await done(client.publish(resize, { width: '2' }))

    const [first, second] = await bodies()
    expect(second).toEqual(first)
    expect(first?.key).toHaveLength(26)
    expect(handle.created).toBe(true)
  })

  it('when the answer breaks off, as after any failure of the network', async () => {
    for (const status of [200, 404]) {
      const { client, requests } = aClient([broken(status), answer({ id: 'resize:a' })])

      expect(await done(client.get('resize:a'))).toEqual({ id: 'resize:a' })
      expect(requests).toHaveLength(2)
    }
  })

  it('a removal that finds nothing the second time has succeeded', async () => {
    const gone = answer({ type: 'urn:baton:problem:not-found', title: 't', status: 404, detail: 'd' }, 404)

    expect(await done(aClient([network, gone]).client.remove('a:b'))).toBeUndefined()
    expect(await errorOf(aClient([gone]).client.remove('a:b'))).toMatchObject({ code: 'not-found' })
  })
})

describe('a request is not sent again', () => {
  it.each([
    ['a publish that restarts', (c: Client) => c.publish('resize', {}, { key: 'a', ifExists: 'restart' })],
    ['a publish that rejects', (c: Client) => c.publish('resize', {}, { key: 'a', ifExists: 'reject' })],
    ['a retry', (c: Client) => c.retry('resize:a')],
    ['a trigger', (c: Client) => c.triggerSchedule('nightly')],
    ['a purge', (c: Client) => c.purge('resize', { status: ['failed'] })],
  ])('after an outage: %s', async (_name, call) => {
    const { client, requests } = aClient([outage])

    expect(await errorOf(call(client))).toMatchObject({ status: 503, code: 'unavailable' })
    expect(requests).toHaveLength(1)
  })

  it('when a signer or a token fails', async () => {
    const cause = new Error('no credentials')
    const { client, requests } = aClient([cause])

    expect(await errorOf(client.get('a:b'))).toMatchObject({ code: 'no-answer', cause })
    expect(requests).toHaveLength(1)
  })
})

describe('what the functions of the caller throw', () => {
  const cause = new Error('the refresh token has expired')
  const fail = () => Promise.reject(cause)

  it.each<[string, ClientSettings]>([
    ['token', { token: fail }],
    ['headers', { headers: fail }],
    ['fetch', { fetch: fail }],
  ])('becomes a problem with its cause: %s', async (_name, settings) => {
    const { client } = aClient([published], settings)
    const calls = [() => client.get('a:b'), () => client.publish('resize', {}), () => client.events().next()]

    for (const call of calls) {
      const error = await errorOf(call())
      expect(error).toBeInstanceOf(ProblemError)
      expect(error).toMatchObject({ code: 'no-answer', cause, message: expect.stringContaining('expired') })
    }
  })

  it('becomes a problem when it sets a header that no request may have', async () => {
    const { client, requests } = aClient([published], { headers: { 'not a header': 'x' } })

    expect(await errorOf(client.get('a:b'))).toMatchObject({ name: 'ProblemError', code: 'invalid' })
    expect(requests).toHaveLength(0)
  })
})

type Client = ReturnType<typeof createClient>

describe('a call ends', () => {
  it('after its time', async () => {
    expect(await errorOf(aClient(['hangs']).client.get('a:b'))).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('30000 ms'),
    })
    const { client } = aClient(['hangs'], { timeoutMs: 500 })
    expect(await errorOf(client.get('a:b'))).toMatchObject({ message: expect.stringContaining('500 ms') })
  })

  it('at once when the caller aborts it, also in a pause and in a wait for a result', async () => {
    const calls = [
      (signal: AbortSignal) => aClient(['hangs']).client.get('a:b', { signal }),
      (signal: AbortSignal) =>
        aClient([answer({}, 429, { 'retry-after': '20' })]).client.get('a:b', { signal }),
      (signal: AbortSignal) =>
        aClient([answer({ id: 'a:b', status: 'ready' })]).client.result('a', 'a:b', { signal }),
    ]
    for (const call of calls) {
      const stopping = new AbortController()
      const error = call(stopping.signal).catch(problem => problem)
      await vi.advanceTimersByTimeAsync(100)
      stopping.abort('enough')

      expect(await error).toMatchObject({ code: 'aborted', cause: 'enough' })
    }
  })
})

describe('a publish', () => {
  it('is refused before it is sent when the input does not fit, with the names of the fields', async () => {
    const { client, requests } = aClient([published])

    const error = await errorOf(client.publish(resize, { width: 'wide' }))

    expect(error).toMatchObject({
      code: 'invalid',
      status: 400,
      problem: { errors: [{ path: 'input.width' }] },
    })
    expect(requests).toHaveLength(0)
  })

  it('with an input that JSON cannot hold is refused at once, and harms no other task of a batch', async () => {
    const { client, requests } = aClient([answer({ results: [{ status: 201, id: 'a:2', created: true }] })])
    const wrong = { type: 'a', key: '1', input: 1n as never }

    const error = await errorOf(client.publish(wrong))
    const many = await done(client.publishMany([wrong, { type: 'a', key: '2' }]))

    expect(error).toMatchObject({ name: 'ProblemError', code: 'invalid', status: 400 })
    expect(many).toMatchObject([
      { status: 400, problem: { detail: expect.stringContaining('the task of a cannot') } },
      { id: 'a:2' },
    ])
    expect(requests).toHaveLength(1)
  })

  it('sends the input as it was given, because the handler parses it', async () => {
    const { client, bodies } = aClient([published])

    await done(client.publish(resize, { width: '3' }, { key: 'a' }))

    expect(await bodies()).toEqual([{ type: 'resize', key: 'a', input: { width: '3' } }])
  })

  it('answers with a handle, by which the task is awaited and cancelled', async () => {
    const end = answer({ id: 'resize:a', status: 'succeeded', result: { width: 3 } })
    const { client, requests } = aClient([published, end, answer({ task: { id: 'resize:a' } })])

    const handle = await done(client.publish(resize, { width: '3' }, { key: 'a' }))

    expect(handle).toMatchObject({ id: 'resize:a', created: false })
    expect(await handle.result()).toEqual({ width: 3 })
    expect(await handle.cancel()).toEqual({ id: 'resize:a' })
    expect(requests.map(({ url }) => new URL(url).pathname)).toEqual([
      '/v1/tasks',
      '/v1/tasks/resize%3Aa',
      '/v1/tasks/resize%3Aa/cancel',
    ])
  })

  it('of a canvas answers with a handle, too; both are found by their keys', async () => {
    const end = answer({ id: 'canvas:c', status: 'succeeded', result: 1 })
    const { client, requests } = aClient([answer({ id: 'canvas:c', created: true }), end])

    const handle = await done(client.publish(chain(resize.with({ width: '1' })), { key: 'c' }))

    expect(await handle.result()).toBe(1)
    await handle.cancel()
    await client.canvasResult(undefined, { key: 'c' })
    await client.result(resize, { key: 'a' })
    expect(requests.slice(1).map(({ url }) => new URL(url).pathname)).toEqual([
      '/v1/canvases/canvas%3Ac',
      '/v1/canvases/canvas%3Ac/cancel',
      '/v1/canvases/canvas%3Ac',
      '/v1/tasks/resize%3Aa',
    ])
  })
})

describe('many publishes', () => {
  const TWO = ['1', '2'].map(key => ({ type: 'a', key }))
  const stored = (key: string) => ({ status: 201, id: `a:${key}`, created: true })
  const failed = (status: number) => ({ status, problem: { type: 'about:blank', title: 'No', status } })
  const results = (count: number) =>
    answer({ results: Array.from({ length: count }, () => ({ status: 201, created: true })) })

  it('take a stream, several batches at a time, and check inputs one by one', async () => {
    const { client, requests } = aClient([results(100), results(49)])
    async function* inputs() {
      for (let n = 0; n < 150; n++) yield { key: `${n}`, input: { width: n === 7 ? 'x' : `${n}` } }
    }

    const all = await done(client.publishMany(resize, inputs()))

    expect(requests).toHaveLength(2)
    expect(all).toHaveLength(150)
    expect(all.filter(({ status }) => status !== 201)).toMatchObject([{ status: 400, problem: {} }])
    expect(all[7]?.status).toBe(400)
  })

  it('count as created when an earlier try of a task without a key has created it', async () => {
    const existing = { status: 200, id: 'a:1', created: false }
    const { client, bodies } = aClient([network, answer({ results: [existing, existing] })])

    const all = await done(client.publishMany([{ type: 'a' }, { type: 'a', key: '1' }]))

    const [first, second] = await bodies()
    expect(second).toEqual(first)
    expect(all).toEqual([{ status: 201, id: 'a:1', created: true }, existing])
  })

  it('are sent again alone when the API could not store them for now', async () => {
    const [a, b, c, d] = ['1', '2', '3', '4'].map(key => ({ type: 'a', key }))
    const { client, bodies } = aClient([
      answer({ results: [stored('1'), failed(503), failed(429), failed(409)] }),
      answer({ results: [stored('2'), failed(503)] }),
      answer({ results: [stored('3')] }),
    ])

    const all = await done(client.publishMany([a, b, c, d] as never))

    expect(await bodies()).toEqual([{ tasks: [a, b, c, d] }, { tasks: [b, c] }, { tasks: [c] }])
    expect(all).toEqual([stored('1'), stored('2'), stored('3'), failed(409)])
  })

  it('keep the last answer of the API when no further try is answered', async () => {
    const results = [failed(503), stored('2')]
    const { client, requests } = aClient([answer({ results }), network], { tries: 2 })

    expect(await done(client.publishMany(TWO))).toEqual(results)
    expect(requests).toHaveLength(2)
  })

  it('are each sent again only if that does no harm', async () => {
    const plain = { type: 'a', key: '1' }
    const restarting = { type: 'a', key: '2', ifExists: 'restart' as const }
    const { client, bodies } = aClient([
      answer({ results: [failed(503), failed(503)] }),
      answer({ results: [stored('1')] }),
    ])

    const all = await done(client.publishMany([plain, restarting]))

    expect(await bodies()).toEqual([{ tasks: [plain, restarting] }, { tasks: [plain] }])
    expect(all).toEqual([stored('1'), failed(503)])
  })

  it('keep their results when the caller is refused meanwhile', async () => {
    const results = [stored('1'), failed(503)]
    const { client } = aClient([answer({ results }), answer({ message: 'Forbidden' }, 403)])

    expect(await done(client.publishMany(TWO))).toEqual(results)
  })

  it('give each task of a batch that no try could deliver its problem', async () => {
    const { client, requests } = aClient([outage], { tries: 2 })

    expect(await done(client.publishMany(TWO))).toMatchObject([
      { id: 'a:1', status: 503 },
      { id: 'a:2', status: 503 },
    ])
    expect(requests).toHaveLength(2)
  })

  it('throw when the caller is refused', async () => {
    const { client } = aClient([answer({ message: 'Forbidden' }, 403)])

    expect(await errorOf(client.publishMany([{ type: 'a' }]))).toMatchObject({ code: 'forbidden' })
  })
})

describe('the caller', () => {
  it('is told of signedFetch when a gateway refuses unsigned calls, and of credentials when it has its own fetch', async () => {
    const forbidden = async () => answer({ message: 'Forbidden' }, 403)
    vi.stubGlobal('fetch', forbidden)
    try {
      const plain = createClient({ url: 'http://baton.test' })
      expect((await errorOf(plain.get('a:b'))).message).toMatch(/signedFetch\(\).*baton-tasks\/aws/)
    } finally {
      vi.unstubAllGlobals()
    }
    const own = createClient({ url: 'http://baton.test', fetch: forbidden })
    expect((await errorOf(own.get('a:b'))).message).toMatch(/check the credentials/)
  })

  it('sends a bearer token, fixed or asked for before each request', async () => {
    let nth = 0
    const { client, requests } = aClient([answer({})], { token: async () => `t${++nth}` })
    await client.get('a:b')
    await client.get('a:b')
    const fixed = aClient([answer({})], { token: 'abc' })
    await fixed.client.get('a:b')

    const tokens = [...requests, ...fixed.requests].map(({ headers }) => headers.get('authorization'))
    expect(tokens).toEqual(['Bearer t1', 'Bearer t2', 'Bearer abc'])
  })

  it('needs no address: that of the environment counts, else the local system', async () => {
    const urls: string[] = []
    const settings = {
      fetch: async (request: Request) => {
        urls.push(request.url)
        return answer({})
      },
    }
    vi.stubEnv('BATON_URL', 'https://api.test/')
    await createClient(settings).get('a:b')
    vi.stubEnv('BATON_URL', '')
    await createClient(settings).get('a:b')
    vi.unstubAllEnvs()

    expect(urls).toEqual(['https://api.test/v1/tasks/a%3Ab', 'http://127.0.0.1:7070/v1/tasks/a%3Ab'])
    expect(await errorOf(createClient({ url: 'nowhere' }).get('a:b'))).toMatchObject({ code: 'invalid' })
  })

  it('gets a problem for the page of a proxy', async () => {
    const { client } = aClient([new Response('<html>')])

    expect(await errorOf(client.get('a:b'))).toMatchObject({ code: 'bad-answer' })
  })
})
