import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createApi } from '../../functions/http/create-api.ts'
import type { ClaimsAnswer, ClaimsBody } from '../../shared/api/runs.ts'
import { type Client, createClient } from '../../shared/client/client.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import { ALL_OPERATIONS } from '../../shared/service/operations.ts'
import type { Worker } from '../../shared/worker/engine.ts'
import { type HttpWorkerSettings, runHttpWorker } from '../../shared/worker/http/http-worker.ts'
import { anApi, published, type TestApi } from '../support/http/an-api.ts'
import { aGate } from './a-worker-world.ts'
import type { Run } from './both-kinds.ts'

/** How often a worker over HTTP asks for tasks, for which types, and for how many. */

let api: TestApi
let worker: Worker
/** The claims that the worker has sent. */
let claims: ClaimsBody[]

beforeEach(async () => {
  api = await anApi()
  claims = []
})
afterEach(async () => {
  let isOver = false
  const over = worker.abort().then(() => {
    isOver = true
  })
  for (let tries = 0; !isOver && tries < 100; tries++) await pass(100)
  await over
})

/** Moves the clock in small steps. A worker that does not pause sends a claim in each of them. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10) {
    await api.system.clock.advance(10)
    await new Promise(resolve => setImmediate(resolve))
  }
}

/**
 * Starts a worker whose claims get these answers. Its other requests go to the API. The client's own delay between claims, which is one of
 * real time, is left out.
 */
function serve(
  answer: (send: () => Promise<ClaimsAnswer>) => ClaimsAnswer | Promise<ClaimsAnswer>,
  { types = ['jobs'], ...settings }: Partial<HttpWorkerSettings> & { types?: string[]; run?: Run } = {},
): void {
  const { run = () => 'done', ...rest } = settings
  const app = createApi(api.system, ALL_OPERATIONS)
  const client: Client = {
    ...createClient({ url: 'http://baton.test', fetch: async request => app.request(request) }),
    claim: async request => {
      claims.push(request)
      await new Promise(resolve => setImmediate(resolve))
      return answer(async () => (await api.call('POST', '/v1/claims', request)).body)
    },
  }
  const tasks = types.map(type => defineTask(type, { run }))
  worker = runHttpWorker(
    { tasks, client, waitMs: 0, ...rest },
    { clock: api.system.clock, log: api.system.log, workerId: 'w1' },
  )
  worker.start()
}

const nothing = (retryAfterMs: number) => () => ({ claims: [], retryAfterMs })
const noConnection = () => {
  throw new TypeError('fetch failed')
}

describe('a worker over HTTP', () => {
  it('claims for all of 41 types, 20 at a time', async () => {
    const types = Array.from({ length: 41 }, (_, n) => `type-${n}`)
    serve(nothing(100), { types })

    await pass(2_000)

    const requests = claims.map(({ types: some = [] }) => some)
    expect(new Set(requests.flat())).toEqual(new Set(types))
    expect(Math.max(...requests.map(some => some.length))).toBe(20)
    expect(requests.slice(0, 3).flat()).toHaveLength(41)
  })

  it('pauses as long as the API asks it to', async () => {
    serve(nothing(500))

    await pass(10_000)

    expect(claims.length).toBeGreaterThanOrEqual(18)
    expect(claims.length).toBeLessThanOrEqual(21)
  })

  it('pauses for a second after a claim that failed, and reports each failure', async () => {
    const failures: object[] = []
    serve(noConnection, { onError: failure => failures.push(failure) })

    await pass(10_000)

    expect(claims.length).toBeGreaterThanOrEqual(9)
    expect(claims.length).toBeLessThanOrEqual(11)
    expect(failures).toHaveLength(claims.length)
    expect(Object.keys(failures[0]!)).toEqual(['error'])
    expect(failures[0]).toMatchObject({ error: { message: expect.stringContaining('fetch failed') } })
  })

  it('keeps to its concurrency after a repeated claim has brought more than it now may run', async () => {
    const gate = aGate()
    for (let n = 0; n < 12; n++) await published(api, { key: `${n}`, leaseMs: 3_600_000 })
    let isLost = false
    serve(
      async send => {
        const answer = await send()
        if (isLost) return answer
        isLost = true
        worker.setConcurrency(2)
        return noConnection()
      },
      { concurrency: 5, run: gate.run },
    )

    await pass(5_000)
    const [first, repeated, ...others] = claims
    const running = worker.running()
    const [one, two, three, ...rest] = gate.waiting.splice(0)
    for (const { open } of [one!, two!, three!]) open()
    await pass(5_000)
    const askedWhileFull = claims.length
    gate.waiting.push(...rest)
    gate.openAll()
    await pass(5_000)

    expect([first!.limit, repeated!.limit]).toEqual([5, 2])
    expect(repeated!.requestId).toBe(first!.requestId)
    expect([running, others]).toEqual([5, []])
    expect(askedWhileFull).toBe(2)
    expect(claims.length).toBeGreaterThan(2)
    expect(Math.max(...claims.slice(1).map(({ limit = 0 }) => limit))).toBe(2)
    expect(worker.running()).toBe(2)
  })
})
