import { describe, expect, it } from 'vitest'
import { serveWakes } from '../../../../shared/runtime/wake.ts'
import type { Shown, TestApi } from '../../../support/http/an-api.ts'
import { anApiPerTest, claimed, expectRefused, published } from '../../../support/http/an-api.ts'
import { MINUTE, NOW, SECOND } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

/** Returns the answer of a call that waits until every claiming process knows of the change. */
async function answerAfterWait(...args: Parameters<TestApi['call']>) {
  const answer = api.call(...args)
  await api.system.clock.advance(2 * SECOND)
  return answer
}

const configured = (more: object) => answerAfterWait('PUT', '/v1/types/jobs', { kind: 'http', ...more })

async function claimKeys(limit = 10, workerId = 'w1'): Promise<string[]> {
  const claiming = api.call('POST', '/v1/claims', { type: 'jobs', workerId, limit })
  await api.system.clock.advance(100)
  return (await claiming).body.claims.map(({ task }: Shown) => task.key)
}

async function publishAll(count: number, parts: (nth: number) => object = () => ({})): Promise<void> {
  for (let nth = 0; nth < count; nth++) await published(api, { key: `k${nth}`, ...parts(nth) })
}

/** Does the waker's work for released permits and started jobs. The clock moves, since looks at one line may wait for each other. */
async function wake(): Promise<void> {
  const { limitLooks, jobLooks } = api.system.messages
  const wakes = [
    ...limitLooks.splice(0).map(look => ({ kind: 'limit' as const, look })),
    ...jobLooks.splice(0).map(look => ({ kind: 'job' as const, look })),
  ]
  const received = wakes.map((wake, nth) => ({ messageId: `m${nth}`, wake }))
  const served = serveWakes(api.system, received, api.system.clock.now() + MINUTE)
  // Of two looks at one line, the slower one looks again some milliseconds later.
  await api.system.clock.advance(100)
  expect(await served).toEqual([])
}

describe('a rate limit over HTTP', () => {
  it('hands out the tasks that may start now, shows why the other tasks wait, and hands these out in the next period', async () => {
    await configured({ limits: { rate: { limit: 3, perMs: 10_000 } } })
    await publishAll(5)

    const first = await claimKeys()
    await api.system.clock.advance(1_000)
    const waiting = (await api.call('GET', '/v1/tasks?type=jobs&status=ready')).body.items[0]
    const early = await claimKeys()
    await api.system.clock.advance(10_000)
    const second = await claimKeys()

    expect([first.length, early.length, second.length]).toEqual([3, 0, 2])
    expect(waiting).toMatchObject({ status: 'ready', statusReason: 'rate-limit' })
  })

  it('no longer delays tasks after it is removed', async () => {
    await configured({ limits: { rate: { limit: 1, perMs: 60_000 } } })
    await publishAll(3)
    const first = await claimKeys()

    await configured({ limits: {} })
    const rest = await claimKeys()

    expect([first.length, rest.length]).toEqual([1, 2])
  })
})

describe('a concurrency limit over HTTP', () => {
  it('starts the next task after a run has ended, and shows why that task waits until then', async () => {
    await configured({ limits: { concurrency: { max: 1, key: 'userId' } } })
    await publishAll(4, nth => ({ userId: `u${nth % 2}`, priority: -nth }))

    const first = await claimKeys()
    const waiting = await api.task('jobs:k2')
    const full = await claimKeys()
    const run = (await api.task('jobs:k0')).runs[0]
    await api.call('POST', `/v1/tasks/jobs:k0/runs/${run.id}/succeed`, { fence: run.fence })
    await wake()
    const next = await claimKeys()

    expect([first.sort(), full, next]).toEqual([['k0', 'k1'], [], ['k2']])
    expect(waiting).toMatchObject({ status: 'ready', statusReason: 'concurrency-limit' })
  })
})

describe('a pause', () => {
  it('is acknowledged when no worker can claim any more, and is shown in the type', async () => {
    await publishAll(1)
    const { now } = api.system.clock
    let answeredAt = 0

    const pausing = api.call('POST', '/v1/types/jobs/pause').then(answer => {
      answeredAt = now()
      return answer
    })
    await api.system.clock.advance(2 * SECOND)

    expect((await pausing).body).toEqual({ type: 'jobs', paused: true, revision: 2 })
    expect(answeredAt).toBe(NOW + 1_500)
    expect(await claimKeys()).toEqual([])
    expect(await api.task('jobs:k0')).toMatchObject({ status: 'ready', statusReason: 'paused' })
    expect((await api.call('GET', '/v1/types/jobs')).body.paused).toBe(true)
  })

  it('leaves running tasks alone, and outlasts a new configuration of the type', async () => {
    await publishAll(2)
    const { path, fence } = await claimed(api)
    await answerAfterWait('POST', '/v1/types/jobs/pause')
    await configured({ ordering: 'aged' })

    const done = await api.call('POST', `${path}/succeed`, { fence })

    expect(done.status).toBe(200)
    expect(await claimKeys()).toEqual([])
  })

  it('ends for all waiting tasks once every process knows of the resume', async () => {
    await publishAll(3)
    await answerAfterWait('POST', '/v1/types/jobs/pause')

    const resumed = await answerAfterWait('POST', '/v1/types/jobs/resume')

    expect(resumed.body).toEqual({ type: 'jobs', paused: false, revision: 3 })
    expect(api.system.messages.jobLooks.map(({ delaySeconds }) => delaySeconds)).toContain(5)
    expect(await claimKeys()).toHaveLength(3)
  })
})

describe('the events of a type', () => {
  it('are published if it says so, which is false by default', async () => {
    const quiet = await api.call('PUT', '/v1/types/quiet', { kind: 'http' })
    const loud = await api.call('PUT', '/v1/types/loud', { kind: 'http', events: true })

    expect(quiet.body.events).toBe(false)
    expect(loud.body.events).toBe(true)
    expect((await api.call('GET', '/v1/types/loud')).body.events).toBe(true)
    expect((await api.call('PUT', '/v1/types/loud', { kind: 'http' })).body.events).toBe(false)
  })

  it.each([1, 'yes', null, []])('are not switched by %j', async events => {
    await expectRefused(api.call('PUT', '/v1/types/odd', { kind: 'http', events }), 'events')
  })
})
