import { describe, expect, it } from 'vitest'
import { createApi } from '../../../../functions/http/create-api.ts'
import { claimOperations } from '../../../../shared/service/operations/runs.ts'
import { ALL_OPERATIONS } from '../../../../shared/service/operations.ts'
import { anApiPerTest, published, type Shown, type TestApi } from '../../../support/http/an-api.ts'

const SECOND = 1_000
const WAIT_MS = 20 * SECOND

/** Every request goes to a new process, because on Lambda no process can rely on what an earlier one remembers. */
const api = anApiPerTest()

type Claimed = { status: number; body: Shown; headers: Headers; tookMs: number }

async function claim(
  workerId = 'w1',
  { app = createApi(api.system, claimOperations), work }: { app?: TestApi['app']; work?: Work } = {},
): Promise<Claimed> {
  const { clock } = api.system
  const from = clock.now()
  let response: Response | undefined
  const answered = Promise.resolve(
    app.request('/v1/claims', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'jobs', workerId, waitMs: WAIT_MS }),
    }),
  ).then(answer => {
    response = answer
  })
  let isThere = false
  while (!response && clock.now() < from + WAIT_MS + SECOND) {
    await clock.advance(10)
    if (!work || isThere || clock.now() < from + work.afterMs) continue
    isThere = true
    await published(api, { key: work.key })
  }
  await answered
  const { status = 0, headers = new Headers() } = response ?? {}
  return { status, body: await response?.json(), headers, tookMs: clock.now() - from }
}

/** Publishes a task while the claim waits. */
type Work = { readonly key: string; readonly afterMs: number }

function counted<Name extends 'announce' | 'get' | 'list'>(name: Name): () => number {
  let count = 0
  const real = api.system.workers[name] as (...args: unknown[]) => unknown
  Object.assign(api.system.workers, {
    [name]: (...args: unknown[]) => {
      count += 1
      return real(...args)
    },
  })
  return () => count
}

describe('a worker that finds no work', () => {
  it('waits twice; after that, each claim in any process is answered at once with the time to ask again', async () => {
    const answers: Claimed[] = []
    for (let nth = 0; nth < 4; nth++) answers.push(await claim())

    expect(answers.map(({ tookMs }) => tookMs >= WAIT_MS)).toEqual([true, true, false, false])
    expect(answers[2]?.tookMs).toBeLessThanOrEqual(20)
    expect(answers.map(({ body }) => body)).toEqual([
      { claims: [] },
      { claims: [] },
      { claims: [], retryAfterMs: 2_000 },
      { claims: [], retryAfterMs: 2_000 },
    ])
  })

  it('waits again once a claim has found work', async () => {
    for (let nth = 0; nth < 3; nth++) await claim()
    await published(api, { key: 'a' })

    const found = await claim()
    const next = await claim()

    expect(found.body.claims).toHaveLength(1)
    expect(found.body).not.toHaveProperty('retryAfterMs')
    expect(next.tookMs).toBeGreaterThanOrEqual(WAIT_MS)
  })

  it('waits again when work arrived during its second wait', async () => {
    await claim()
    const second = await claim('w1', { work: { key: 'late', afterMs: 5 * SECOND } })

    const third = await claim()

    expect(second.body.claims).toHaveLength(1)
    expect(third.tookMs).toBeGreaterThanOrEqual(WAIT_MS)
  })

  it('counts its own waits only', async () => {
    for (let nth = 0; nth < 3; nth++) await claim('idle')

    expect((await claim('other')).tookMs).toBeGreaterThanOrEqual(WAIT_MS)
  })

  it('of a paused type is answered in the same way', async () => {
    const stored = await api.system.types.get('jobs')
    if (stored) await api.system.types.put({ ...stored, paused: true, version: 2 }, 1)
    for (let nth = 0; nth < 2; nth++) await claim()

    expect((await claim()).body).toEqual({ claims: [], retryAfterMs: 2_000 })
  })

  it('costs no write per claim: all processes together announce it once in ten seconds', async () => {
    for (let nth = 0; nth < 2; nth++) await claim()
    const [writes, reads] = [counted('announce'), counted('get')]

    for (let nth = 0; nth < 30; nth++) {
      await claim()
      await api.system.clock.advance(2 * SECOND)
    }

    expect(reads()).toBe(30)
    expect(writes()).toBeLessThanOrEqual(6)
    expect(writes()).toBeGreaterThanOrEqual(5)
  })

  it('waits as before when the registry does not answer', async () => {
    for (let nth = 0; nth < 3; nth++) await claim()
    Object.assign(api.system.workers, { get: () => Promise.reject(new Error('no answer')) })

    const answer = await claim()

    expect([answer.status, answer.body]).toEqual([200, { claims: [] }])
    expect(answer.tookMs).toBeGreaterThanOrEqual(WAIT_MS)
  })
})

describe('a worker that is busy', () => {
  it('never gets a time to ask again, and writes only its heartbeats to the registry', async () => {
    const writes = counted('announce')

    for (let nth = 0; nth < 20; nth++) {
      await published(api, { key: `k${nth}` })
      expect((await claim()).body).not.toHaveProperty('retryAfterMs')
      await api.system.clock.advance(SECOND)
    }

    expect(writes()).toBeLessThanOrEqual(3)
  })

  it('finds work that arrives within a second of its claim after at most 100 ms on average', async () => {
    const late: number[] = []
    for (let nth = 0; nth < 25; nth++) {
      const afterMs = 40 + nth * 37
      const { tookMs } = await claim('w1', { work: { key: `k${nth}`, afterMs } })
      late.push(tookMs - afterMs)
    }

    expect(late.reduce((sum, one) => sum + one, 0) / late.length).toBeLessThanOrEqual(100)
  })
})

describe('too many waiting workers', () => {
  const narrow = () =>
    createApi(api.system, ALL_OPERATIONS, { claimPace: { retryAfterMs: 3_000, maxWaiting: 2 } })
  const showWaiting = (workerId: string, untilMs: number) =>
    api.system.workers.announce({
      workerId,
      kind: 'http',
      types: ['jobs'],
      emptyWaits: 1,
      waitingUntil: api.system.clock.now() + untilMs,
      startedAt: api.system.clock.now(),
      lastSeen: api.system.clock.now(),
    })

  it('are refused with 429 and the time to ask again, after a second and not before', async () => {
    for (const workerId of ['a', 'b']) await showWaiting(workerId, WAIT_MS)

    const refused = await claim('c', { app: narrow() })

    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '3'])
    expect(refused.body).toMatchObject({ type: 'urn:baton:problem:too-many-waiting', retryAfterMs: 3_000 })
    expect(refused.tookMs).toBeGreaterThanOrEqual(SECOND)
    expect(refused.tookMs).toBeLessThan(2 * SECOND)
  })

  it('still get work that exists', async () => {
    for (const workerId of ['a', 'b']) await showWaiting(workerId, WAIT_MS)
    await published(api, { key: 'there' })

    expect((await claim('c', { app: narrow() })).body.claims).toHaveLength(1)
  })

  it('do not include workers whose wait is over', async () => {
    await showWaiting('a', WAIT_MS)
    await showWaiting('b', 500)

    expect((await claim('c', { app: narrow() })).status).toBe(200)
  })

  it('are counted at once: of three claims within 200 ms, one is refused and two wait', async () => {
    const from = api.system.clock.now()
    const app = narrow()
    const waiting = ['a', 'b', 'c'].map(async (workerId, nth) => {
      await api.system.clock.sleep(nth * 100)
      return app.request('/v1/claims', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ type: 'jobs', workerId, waitMs: WAIT_MS }),
      })
    })
    while (api.system.clock.now() < from + WAIT_MS + SECOND) await api.system.clock.advance(10)

    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 429])
  })
})
