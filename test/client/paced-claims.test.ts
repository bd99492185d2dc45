import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClient } from '../../shared/client/client.ts'

/** A client whose server gives these answers in turn. `requestedAt` has the times of the requests. */
function aClient(answers: ReadonlyArray<readonly [status: number, body: object]>) {
  const requestedAt: number[] = []
  const client = createClient({
    url: 'http://baton.test',
    fetch: async () => {
      const [status, body] = answers[requestedAt.length] ?? [200, { claims: [] }]
      requestedAt.push(Date.now())
      return Response.json(body, { status })
    },
  })
  return { client, requestedAt }
}

const START = Date.UTC(2026, 0, 1)
const W1 = { type: 'jobs', workerId: 'w1', waitMs: 20_000 }

beforeEach(() => {
  vi.useFakeTimers({ now: START })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Claims `times` times while the clock moves on. Returns when each request was sent, in milliseconds from the start. */
async function sentAt({ client, requestedAt }: ReturnType<typeof aClient>, times: number, workerId = 'w1') {
  for (let nth = 0; nth < times; nth++) {
    const claimed = client.claim({ ...W1, workerId })
    await vi.advanceTimersByTimeAsync(10_000)
    await claimed
    vi.setSystemTime(requestedAt.at(-1) ?? START)
  }
  return requestedAt.map(at => at - START)
}

describe('the client', () => {
  it('delays an idle worker’s next claim as the API asks, and sends it at once after a claim that found work', async () => {
    const rest = [200, { claims: [], retryAfterMs: 2_000 }] as const
    const found = [200, { claims: [{ task: { id: 'jobs:a' }, run: { id: 'r' } }] }] as const

    expect(await sentAt(aClient([rest, rest, found, rest]), 5)).toEqual([0, 2_000, 4_000, 4_000, 6_000])
  })

  it('treats a refusal because too many claims wait as an empty answer with a pause', async () => {
    const refused = [
      429,
      { type: 'urn:x', title: 'Too many', status: 429, detail: 'd', retryAfterMs: 3_000 },
    ] as const

    expect(await sentAt(aClient([refused]), 2)).toEqual([0, 3_000])
  })

  it('pauses for two seconds when a gateway refuses without naming a pause', async () => {
    expect(await sentAt(aClient([[429, { message: 'Too Many Requests' }]]), 2)).toEqual([0, 2_000])
  })

  it('delays one worker and not another', async () => {
    const { client, requestedAt } = aClient([[200, { claims: [], retryAfterMs: 2_000 }]])
    await client.claim(W1)

    await client.claim({ ...W1, workerId: 'w2' })

    expect(requestedAt.map(at => at - START)).toEqual([0, 0])
  })
})
