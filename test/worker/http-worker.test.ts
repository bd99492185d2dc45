import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createApi } from '../../functions/http/create-api.ts'
import type { ClaimsAnswer } from '../../shared/api/runs.ts'
import { type Client, createClient } from '../../shared/client/client.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import type { Flow, TaskDefinition } from '../../shared/define/definitions.ts'
import { defineFlow } from '../../shared/define/flow/define-flow.ts'
import { ALL_OPERATIONS } from '../../shared/service/operations.ts'
import { Fatal } from '../../shared/signals.ts'
import { createHttpWorker } from '../../shared/worker/create-worker.ts'
import type { Worker } from '../../shared/worker/engine.ts'
import { type HttpWorkerSettings, runHttpWorker } from '../../shared/worker/http/http-worker.ts'
import { anApi, type TestApi } from '../support/http/an-api.ts'
import { chatty } from './fixtures/chatty.ts'

let api: TestApi
let client: Client
let worker: Worker | undefined
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
  options: Pick<HttpWorkerSettings, 'concurrency' | 'afterRun'> = {},
): Promise<Worker> {
  for (const task of tasks.filter(one => one.kind === 'baton-task'))
    await client.putType(task.type, { kind: 'http' })
  worker = runHttpWorker(
    { tasks, client, waitMs: 100, ...options },
    { clock: api.system.clock, log: silent, workerId: 'w1' },
  )
  worker.start()
  return worker
}

const echo = defineTask('echo', {
  run: async (input, ctx) => {
    ctx.log.info('runs')
    return { input, attempt: ctx.attempt, key: ctx.key }
  },
}) as unknown as TaskDefinition

describe('an HTTP worker', () => {
  it('runs tasks, several at a time, and reports their results', async () => {
    await serve([echo], { concurrency: 3 })
    const handles = await Promise.all(
      [1, 2, 3, 4, 5].map(n => client.publish('echo', { n }, { key: `${n}` })),
    )

    const results = await Promise.all(handles.map(handle => handle.result()))

    expect(results).toEqual([1, 2, 3, 4, 5].map(n => ({ input: { n }, attempt: 1, key: `${n}` })))
  })

  it('reports failures with their log, and Fatal without a retry', async () => {
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

  it('moves a task from stage to stage, and lets a handler publish', async () => {
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

  it('runs the steps of a flow with its parameters', async () => {
    const add = defineTask('add', { run: (_input, ctx) => ({ ...ctx.params, step: ctx.step }) })
    const flow = defineFlow('sum', { steps: [{ name: 'one', do: add }] })
    await serve([add as unknown as TaskDefinition, flow as unknown as Flow])
    await client.putType('sum', flow.config)
    const { result } = await client.publish('sum', { a: 1 })

    expect(await result()).toEqual({ a: 1, step: 'one' })
  })

  it('claims once when an answer is lost, at no cost of a retry', async () => {
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

  it('claims once also when no try of a claim gets an answer, and later ones do', async () => {
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

  it('takes the answer to the report of an end, although the answer to a heartbeat overtakes it', async () => {
    const outcomes: string[] = []
    const beaten = Promise.withResolvers<void>()
    faults.push(request => {
      const { pathname } = new URL(request.url)
      if (!pathname.startsWith('/v1/runs/')) return undefined
      const answer = Promise.resolve(api.app.request(request))
      if (pathname === '/v1/runs/finish') return answer.then(one => beaten.promise.then(() => one))
      return answer.then(one => {
        // The worker gets the answer to the report after it has taken this one.
        setTimeout(beaten.resolve, 50)
        return one
      })
    })
    await serve([echo], { afterRun: ({ outcome }) => outcomes.push(outcome) })
    const { result } = await client.publish('echo', undefined, { leaseMs: 3_600_000 })
    await result()

    await expect.poll(() => outcomes).toEqual(['succeed'])
  })

  it('releases a task whose long list cannot be read now, at no cost of a retry', async () => {
    // The list is paged only when it is long. The claim is changed instead.
    faults.push(request => {
      const { pathname } = new URL(request.url)
      if (pathname.endsWith('/previous')) return Promise.resolve(Response.json({}, { status: 503 }))
      if (pathname !== '/v1/claims') return undefined
      return Promise.resolve(api.app.request(request)).then(async answer => {
        const { claims, ...rest } = (await answer.json()) as ClaimsAnswer
        const paged = claims.map(one => ({ ...one, task: { ...one.task, previousPaged: true } }))
        return Response.json({ ...rest, claims: paged })
      })
    })
    const outcomes: string[] = []
    await serve([echo], { afterRun: ({ outcome }) => outcomes.push(outcome) })
    const { id } = await client.publish('echo', undefined, { leaseMs: 3_600_000 })

    await expect.poll(() => outcomes).toContain('release')
    expect((await client.get(id)).attempts.used).toBe(0)
  })

  it('runs handlers in processes of their own, if it is asked to', async () => {
    await client.putType('chatty', { kind: 'http' })
    const isolate = { file: 'test/worker/fixtures/chatty.ts' }
    worker = createHttpWorker({ tasks: [chatty], client, isolate, waitMs: 100, log: silent })
    worker.start()
    const input = { does: 'tell', at: '2026-01-01T12:00:00.000Z' }
    const { result } = await client.publish('chatty', input, { leaseMs: 3_600_000, key: 'k' })

    expect(await result()).toMatchObject({ key: 'k', at: input.at })
    expect(await result()).not.toMatchObject({ pid: process.pid })
  })

  it('fails the task for good when the API refuses its result', async () => {
    const huge = defineTask('huge', { run: () => 'x'.repeat(400_000) }) as unknown as TaskDefinition
    await serve([huge])
    const { result } = await client.publish('huge')

    await expect(result()).rejects.toThrow(/InvalidResult/)
  })

  it('refuses to serve nothing, or nothing at a time, and names a wrong option', () => {
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
