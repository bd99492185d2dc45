import { beforeEach, describe, expect, it } from 'vitest'
import { anApiPerTest, type Shown } from '../../../support/http/an-api.ts'

const api = anApiPerTest()

/** Keys whose alphabetical order differs from their order of publishing. */
const KEYS = Array.from({ length: 60 }, (_, nth) => `k${(nth * 37) % 60}`)
/** Some inputs are large. The publish of a large input takes one step more. */
const inputOf = (nth: number) => (nth % 7 === 0 ? 'x'.repeat(300) : nth)

async function claimedKeys(limit: number, type = 'jobs'): Promise<string[]> {
  const { body } = await api.call('POST', '/v1/claims', { type, workerId: 'w1', limit })
  return body.claims.map(({ task }: Shown) => task.key)
}

describe.each(['arrival', 'priority', 'aged'])('tasks with one due time, ordered by %s', ordering => {
  beforeEach(async () => {
    await api.call('PUT', '/v1/types/jobs', { kind: 'http', ordering })
  })

  it('are claimed in the order of their batch, and a second batch after the first', async () => {
    for (const keys of [KEYS.slice(0, 40), KEYS.slice(40)]) {
      const tasks = keys.map((key, nth) => ({ type: 'jobs', key, input: inputOf(nth) }))
      await api.call('POST', '/v1/tasks/batch', { tasks })
    }

    expect([...(await claimedKeys(25)), ...(await claimedKeys(100))]).toEqual(KEYS)
  })

  it('are claimed in the order of their arrival, one by one', async () => {
    const dueAt = new Date(api.system.clock.now()).toISOString()
    for (const key of KEYS) await api.call('POST', '/v1/tasks', { type: 'jobs', key, dueAt })

    expect(await claimedKeys(100)).toEqual(KEYS)
  })

  it('are behind a released task, which keeps its position', async () => {
    await api.call('POST', '/v1/tasks/batch', { tasks: [{ type: 'jobs', key: 'first' }] })
    const { body } = await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w1' })
    const [{ task, run }] = body.claims
    await api.call('POST', '/v1/tasks/batch', { tasks: KEYS.map(key => ({ type: 'jobs', key })) })
    await api.call('POST', `/v1/tasks/${task.id}/runs/${run.id}/release`, { fence: run.fence })

    expect(await claimedKeys(100)).toEqual(['first', ...KEYS])
  })
})

it('members of a group are claimed in their order', async () => {
  const group = KEYS.map((_key, nth) => ({ type: 'jobs', input: nth }))

  await api.call('POST', '/v1/canvases', { key: 'c', group })

  const { body } = await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w1', limit: 100 })
  expect(body.claims.map(({ task }: Shown) => task.input)).toEqual(KEYS.map((_key, nth) => nth))
})
