import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { aLocalSystem } from '../../support/local-system/local-system.ts'
import { startWorker, type WorkerProcess } from '../../support/workers/worker-process.ts'

/** Tests which changes of a running task's options reach its run, and when. */

const system = aLocalSystem()
let worker: WorkerProcess

beforeAll(async () => {
  await system.cloud.functions.find('Probe').warm(2)
  worker = await startWorker(system)
})

afterAll(async () => {
  worker?.signal('SIGKILL')
  await worker?.ended
})

const patch = async (id: string, changes: object) => {
  const { status, body } = await system.call('PATCH', `/v1/tasks/${id}`, changes)
  expect(status, JSON.stringify(body)).toBe(200)
}
const get = async (id: string) => (await system.call('GET', `/v1/tasks/${id}`)).body
/** A lease counts from the moment at which the API serves the heartbeat, at most this long after the call began. */
const CALL_MS = 1_000

describe('over HTTP', () => {
  const TYPE = 'patched'
  const ids: string[] = []
  beforeAll(() => system.call('PUT', `/v1/types/${TYPE}`, { kind: 'http' }))
  // The next test could otherwise claim a task of this test whose lease has ended.
  afterEach(() => Promise.all(ids.map(id => system.call('POST', `/v1/tasks/${id}/cancel`))))

  async function running(options: object = {}) {
    const id = await system.publish({
      type: TYPE,
      leaseMs: 9_000,
      heartbeatMs: 3_000,
      ...options,
    })
    ids.push(id)
    return { id, ...(await claim('w')) }
  }

  async function claim(workerId: string) {
    const { body } = await system.call('POST', '/v1/claims', { type: TYPE, workerId, waitMs: 5_000 })
    const [{ task, run }] = body.claims
    const beat = () =>
      system.call('POST', `/v1/tasks/${task.id}/runs/${run.id}/heartbeat`, { fence: run.fence })
    const leaseMs = Date.parse(run.leaseUntil) - Date.parse(task.runs.at(-1).startedAt)
    return { run, beat, leaseMs }
  }

  it.each([
    ['a shorter interval', { heartbeatMs: 700 }, { heartbeatMs: 700, leaseMs: 9_000 }],
    ['a longer interval within the lease', { heartbeatMs: 5_000 }, { heartbeatMs: 5_000, leaseMs: 9_000 }],
    [
      'an interval beyond the lease, shortened to two thirds of it',
      { heartbeatMs: 8_000 },
      { heartbeatMs: 6_000, leaseMs: 9_000 },
    ],
    [
      "a longer lease and interval, the interval within the run's own lease",
      { heartbeatMs: 20_000, leaseMs: 60_000 },
      { heartbeatMs: 6_000, leaseMs: 60_000 },
    ],
    ['a shorter lease', { leaseMs: 4_000 }, { heartbeatMs: 3_000, leaseMs: 4_000 }],
  ])(
    'the answer to the next heartbeat has %s, and renews the lease for the length at the claim',
    async (_name, changes, expected) => {
      const { id, beat } = await running()
      await patch(id, changes)

      const sentAt = Date.now()
      const { status, body } = await beat()

      expect(status).toBe(200)
      expect(body.options).toMatchObject(expected)
      const leaseMs = Date.parse(body.leaseUntil) - sentAt
      expect(leaseMs).toBeGreaterThanOrEqual(9_000)
      expect(leaseMs).toBeLessThan(9_000 + CALL_MS)
    },
  )

  it('a changed lease applies to runs that are claimed afterwards', async () => {
    const { id } = await running({ concurrency: 2 })
    await patch(id, { leaseMs: 30_000 })

    expect((await claim('other')).leaseMs).toBe(30_000)
  })

  it('a changed time limit applies to runs that are claimed afterwards', async () => {
    const { id, beat } = await running({ timeoutMs: 60_000 })
    await patch(id, { timeoutMs: 100 })
    await sleep(1_500)

    expect((await beat()).status).toBe(200)
    expect((await get(id)).status).toBe('running')
  })

  it("a list of workers without the run's worker ends the run, and no retry is counted", async () => {
    const { id, beat } = await running()
    await patch(id, { workerIds: ['else'] })

    const refused = await beat()
    const task = await get(id)

    expect(refused).toMatchObject({ status: 409, body: { reason: 'excluded' } })
    expect(task).toMatchObject({ status: 'ready', attempts: { used: 0 } })
    expect(task.runs).toMatchObject([{ state: 'cancelled' }])
  })
})

describe.each([
  ['a Lambda handler', 'probe'],
  ['a standalone worker', 'clip'],
])('in %s', (_name, type) => {
  const LEASE_MS = 6_000
  const HEARTBEAT_MS = 1_000

  async function running(key: string, options: object = {}, sleepMs = 4_000) {
    const input = { report: system.reportUrl, sleepMs }
    const beats = { leaseMs: LEASE_MS, heartbeatMs: HEARTBEAT_MS }
    const id = await system.publish({ type, key: `${type}-${key}`, input, ...beats, ...options })
    await hasReported(key, 'started')
    return id
  }
  const hasReported = (key: string, event: string) =>
    system.reportWhen(report => report.key === `${type}-${key}` && report.event === event)
  const leaseOf = ({ runs }: { runs: Array<{ leaseUntil: string }> }) => runs[0]?.leaseUntil

  it('a run keeps sending heartbeats within its own lease after a longer lease and interval are set', async () => {
    const id = await running('long')
    await patch(id, { leaseMs: 60_000, heartbeatMs: 20_000 })
    const patched = await get(id)

    const beaten = await system.taskWhen(id, task => leaseOf(task) !== leaseOf(patched))
    const seenAt = Date.now()
    const done = await system.taskWhen(id, ({ status }) => status === 'succeeded')

    expect(Date.parse(beaten.runs[0].leaseUntil) - seenAt).toBeLessThanOrEqual(LEASE_MS)
    expect(done.runs).toHaveLength(1)
    expect(done.attempts.used).toBe(1)
  })

  it('a shorter interval applies from the next heartbeat', async () => {
    const id = await running('often', { leaseMs: 15_000, heartbeatMs: 5_000 }, 8_000)
    await patch(id, { heartbeatMs: 100 })
    const leases = new Set<string>()

    // With the first interval there would be heartbeats at 1.5 s and 6.5 s, and so three leases.
    await system.taskWhen(id, task => {
      if (task.status === 'running') leases.add(leaseOf(task) ?? '')
      return leases.size > 4 || task.status !== 'running'
    })
    await system.call('POST', `/v1/tasks/${id}/cancel`)

    expect(leases.size).toBeGreaterThan(4)
  })

  it("a list of workers without the run's worker aborts the run at its next heartbeat, and no retry is counted", async () => {
    const heartbeatMs = 3_000
    const id = await running('excluded', { leaseMs: 12_000, heartbeatMs }, 10_000)
    await patch(id, { workerIds: ['else'] })

    await hasReported('excluded', 'aborted')
    const task = await get(id)
    expect(task).toMatchObject({ status: 'ready', statusReason: 'no-worker', attempts: { used: 0 } })
    expect(task.runs).toMatchObject([{ state: 'cancelled' }])
  })

  it('a shorter time limit does not change a live run', async () => {
    const id = await running('limited', { timeoutMs: 60_000 })
    await patch(id, { timeoutMs: 100 })

    const done = await system.taskWhen(id, ({ status }) => status === 'succeeded')

    expect(done.attempts.used).toBe(1)
  })
})
