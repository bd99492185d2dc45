import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createApi } from '../../functions/http/create-api.ts'
import { type Client, createClient } from '../../shared/client/client.ts'
import { defineTask, type TaskDefinition } from '../../shared/define/define-task.ts'
import type { Flow } from '../../shared/define/flow/define-flow.ts'
import { defineFlow } from '../../shared/define/flow/define-flow.ts'
import { type HttpWorker, runHttpWorker } from '../../shared/http-worker/http-worker.ts'
import { ALL_OPERATIONS } from '../../shared/service/operations.ts'
import { Fatal } from '../../shared/signals.ts'
import { anApi, type TestApi } from '../support/http/an-api.ts'

let api: TestApi
let client: Client
let worker: HttpWorker | undefined
let time: { stop(): Promise<void> }
/** What the next requests meet in place of the API. */
let faults: Array<(request: Request) => Promise<Response> | undefined>

beforeEach(async () => {
  api = await anApi()
  time = letTimePass(api)
  faults = []
  const app = createApi(api.system, ALL_OPERATIONS, { claimPace: { retryAfterMs: 20, maxWaiting: 50 } })
  client = createClient({
    url: 'http://baton.test',
    fetch: async request => {
      for (const fault of faults) {
        const answer = fault(request)
        if (answer) return answer
      }
      return app.request(request)
    },
  })
})
afterEach(async () => {
  await worker?.stop({ timeoutMs: 0 })
  worker = undefined
  await time.stop()
})

/** Moves the clock of the API and the worker as long as a test runs: claims wait for work until that time has passed. */
function letTimePass({ system }: TestApi): { stop(): Promise<void> } {
  let isOver = false
  const passing = (async () => {
    while (!isOver) {
      await system.clock.advance(20)
      await sleep(1)
    }
  })()
  return {
    stop: () => {
      isOver = true
      return passing
    },
  }
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

async function serve(
  tasks: ReadonlyArray<TaskDefinition | Flow>,
  options: { concurrency?: number } = {},
): Promise<HttpWorker> {
  for (const task of tasks.filter(one => one.kind === 'baton-task'))
    await client.putType(task.type, { kind: 'http' })
  worker = runHttpWorker(
    { tasks, client, waitMs: 100, ...options },
    { clock: api.system.clock, log: silent, workerId: 'w1' },
  )
  worker.start()
  return worker
}

const outage = Response.json({ message: 'Service Unavailable' }, { status: 503 })
const once = (signal: AbortSignal) => new Promise(resolve => signal.addEventListener('abort', resolve))

const echo = defineTask('echo', {
  run: async (input, ctx) => {
    ctx.log.info('runs')
    return { input, attempt: ctx.attempt, key: ctx.key }
  },
}) as unknown as TaskDefinition

describe('an HTTP worker', () => {
  test('runs tasks, several at a time, and reports their results', async () => {
    await serve([echo], { concurrency: 3 })
    const handles = await Promise.all(
      [1, 2, 3, 4, 5].map(n => client.publish('echo', { n }, { key: `${n}` })),
    )

    const results = await Promise.all(handles.map(handle => handle.result()))

    expect(results).toEqual([1, 2, 3, 4, 5].map(n => ({ input: { n }, attempt: 1, key: `${n}` })))
  })

  test('reports failures with their log, and Fatal without a retry', async () => {
    const failing = defineTask('failing', {
      run: (_input, ctx) => {
        ctx.log.warn('soon')
        throw new Fatal('never')
      },
    }) as unknown as TaskDefinition
    await serve([failing])
    const { id, result } = await client.publish('failing')

    await expect(result()).rejects.toMatchObject({ code: 'task-failed' })
    expect(await client.get(id)).toMatchObject({
      error: { message: 'never' },
      runs: [{ log: expect.stringContaining('WARN soon') }],
    })
  })

  test('moves a task from stage to stage, and lets a handler publish', async () => {
    const staged = defineTask('staged', {
      stages: {
        first: (_input, ctx) => ctx.next('second'),
        second: async (_input, ctx) => ctx.publish({ type: 'echo', key: 'child' }),
      },
    }) as unknown as TaskDefinition
    await serve([staged, echo])
    const { result } = await client.publish('staged')

    expect(await result()).toEqual({ id: 'echo:child', created: true })
    expect(await client.result('echo', { key: 'child' })).toMatchObject({ key: 'child' })
  })

  test('runs the steps of a flow with its parameters', async () => {
    const add = defineTask('add', { run: (_input, ctx) => ({ ...ctx.params, step: ctx.step }) })
    const flow = defineFlow('sum', { steps: [{ name: 'one', do: add }] })
    await serve([add as unknown as TaskDefinition, flow as unknown as Flow])
    await client.putType('sum', flow.config)
    const { result } = await client.publish('sum', { a: 1 })

    expect(await result()).toEqual({ a: 1, step: 'one' })
  })

  test('aborts the handler of a cancelled task with the next heartbeat', async () => {
    let reason: unknown
    const begun = Promise.withResolvers<void>()
    const slow = defineTask('slow', {
      run: async (_input, ctx) => {
        begun.resolve()
        await sleep(60_000, undefined, { signal: ctx.signal }).catch(() => undefined)
        reason = ctx.signal.reason
      },
    }) as unknown as TaskDefinition
    await serve([slow])
    const { cancel } = await client.publish('slow', undefined, { heartbeatMs: 500 })
    await begun.promise
    await cancel()

    await vi.waitFor(() => expect(String(reason)).toMatch(/cancelled/), { timeout: 60_000 })
  })

  test('claims once when an answer is lost, at no cost of a retry', async () => {
    let isLost = false
    faults.push(request => {
      if (isLost || !request.url.endsWith('/v1/claims')) return undefined
      return Promise.resolve(api.app.request(request)).then(async answer => {
        const { claims } = (await answer.clone().json()) as { claims: unknown[] }
        if (claims.length === 0) return answer
        isLost = true
        throw new TypeError('the connection broke')
      })
    })
    await serve([echo])
    const { id, result } = await client.publish('echo')

    expect(await result()).toMatchObject({ attempt: 1 })
    expect(isLost).toBe(true)
    expect((await client.get(id)).runs).toHaveLength(1)
  })

  test('claims once also when no try of a claim gets an answer, and later ones do', async () => {
    let lost = 0
    const impatient = createClient({
      url: 'http://baton.test',
      tries: 1,
      fetch: async request => {
        const isClaim = request.url.endsWith('/v1/claims')
        const answer = await createApi(api.system, ALL_OPERATIONS, {
          claimPace: { retryAfterMs: 20, maxWaiting: 50 },
        }).request(request)
        const { claims = [] } = (isClaim ? await answer.clone().json() : {}) as { claims?: unknown[] }
        if (claims.length === 0 || lost++ > 2) return answer
        throw new TypeError('fetch failed')
      },
    })
    await client.putType('echo', { kind: 'http' })
    const { result, id } = await client.publish('echo', {}, { leaseMs: 600_000 })
    worker = runHttpWorker(
      { tasks: [echo], client: impatient, waitMs: 100 },
      { clock: api.system.clock, log: silent, workerId: 'w1' },
    )
    worker.start()

    expect(await result()).toMatchObject({ attempt: 1 })
    expect(lost).toBeGreaterThan(2)
    expect((await client.get(id)).runs).toHaveLength(1)
  })

  test('aborts the handler when its lease ends during an outage, and reports no end', async () => {
    let reason: unknown
    const begun = Promise.withResolvers<void>()
    const cutOff = defineTask('cut-off', {
      run: async (_input, ctx) => {
        begun.resolve()
        await once(ctx.signal)
        reason = ctx.signal.reason
      },
    }) as unknown as TaskDefinition
    const serving = await serve([cutOff], { concurrency: 1 })
    const { id } = await client.publish('cut-off', undefined, { leaseMs: 5_000, heartbeatMs: 1_000 })
    await begun.promise
    faults.push(request => (request.method === 'GET' ? undefined : Promise.resolve(outage.clone())))

    await vi.waitFor(() => expect(String(reason)).toMatch(/its lease has ended/), { timeout: 60_000 })
    faults = []

    await vi.waitFor(() => expect(serving.running()).toBe(0))
    expect((await client.get(id)).status).not.toBe('succeeded')
  })

  test('reports an end again after an outage', async () => {
    let refusals = 2
    faults.push(request => {
      if (!request.url.endsWith('/v1/runs/finish') || refusals-- <= 0) return undefined
      return Promise.resolve(Response.json({ message: 'Internal Server Error' }, { status: 500 }))
    })
    await serve([echo])
    const { result } = await client.publish('echo')

    expect(await result()).toMatchObject({ attempt: 1 })
  })

  test('sends progress with a heartbeat, and fails a run that takes longer than its timeoutMs', async () => {
    const timid = defineTask('timid', {
      run: async (_input, ctx) => {
        ctx.progress({ done: 1 })
        await once(ctx.signal)
      },
    }) as unknown as TaskDefinition
    await serve([timid])
    const options = { timeoutMs: 8_000, heartbeatMs: 1_000, retry: { maxRetries: 0 } }
    const { id, result } = await client.publish('timid', undefined, options)
    const progress = async () => (await client.get(id)).runs.at(-1)?.progress
    await vi.waitFor(async () => expect(await progress()).toEqual({ done: 1 }), { timeout: 60_000 })

    await expect(result()).rejects.toThrow(/TimedOut: the run took longer than 8000 ms/)
  })

  test('fails the task for good when the API refuses its result', async () => {
    const huge = defineTask('huge', { run: () => 'x'.repeat(400_000) }) as unknown as TaskDefinition
    await serve([huge])
    const { result } = await client.publish('huge')

    await expect(result()).rejects.toThrow(/InvalidResult/)
  })

  test('lets its runs finish when it stops, releases what takes too long, and claims no more', async () => {
    const begun = Promise.withResolvers<void>()
    const endless = defineTask('endless', {
      run: (_input, ctx) => {
        begun.resolve()
        return sleep(60_000, undefined, { signal: ctx.signal })
      },
    }) as unknown as TaskDefinition
    const stopping = await serve([endless], { concurrency: 1 })
    const { id } = await client.publish('endless')
    await begun.promise

    await stopping.stop({ timeoutMs: 50 })

    expect(stopping.running()).toBe(0)
    expect(await client.get(id)).toMatchObject({
      status: 'ready',
      attempts: { used: 0 },
      runs: [{ state: 'released' }],
    })
    expect(() => stopping.start()).toThrow(/was stopped/)
  })

  test('refuses to serve nothing, or nothing at a time, and names a wrong option', () => {
    const machine = { clock: api.system.clock, log: silent, workerId: 'w' }
    expect(() => runHttpWorker({ tasks: [], client }, machine)).toThrow(/at least one task/)
    expect(() => runHttpWorker({ tasks: [echo], client, concurrency: 0 }, machine)).toThrow(/from 1 up/)
    const wrong = { waitMs: 30_000, drainMs: -1 }
    for (const [name, value] of Object.entries(wrong))
      expect(() => runHttpWorker({ tasks: [echo], client, [name]: value }, machine)).toThrow(
        `${name} is ${value}; give`,
      )
  })
})
