import { describe, expect, it } from 'vitest'
import { aLocalSystem, hasEnded } from '../../support/local-system/local-system.ts'

const system = aLocalSystem()

const states = (task: { runs: Array<{ state: string }> }) => task.runs.map(({ state }) => state)

/** What a function has logged about a task. */
function linesAbout(functionName: string, taskId: string) {
  const logs = system.cloud.functions.find(functionName).logs.filter(line => line.startsWith('{'))
  return logs.map(line => JSON.parse(line)).filter(line => line.taskId === taskId)
}

describe('failures', () => {
  it('are grouped by error, with the failed runs of tasks that succeed later', async () => {
    const keys = ['failing-1', 'failing-2']
    const ids = await Promise.all(
      keys.map(key => system.publish({ type: 'probe', key, input: { failures: 2 } })),
    )
    for (const id of ids) await system.taskWhen(id, hasEnded)

    const { items } = await system.answerWhen('/v1/failures?type=probe', ({ items }) =>
      items.some(({ count, error }: { count: number; error: string }) => count >= 4 && error.includes(':')),
    )

    expect(items[0]).toMatchObject({ type: 'probe', exampleId: expect.stringMatching(/^probe:/) })
    expect(items[0].error).not.toMatch(/\d/)
  })
})

describe('a handler', () => {
  it.each([
    [
      'that throws is retried until it succeeds',
      { failures: 2 },
      'succeeded',
      ['failed', 'failed', 'succeeded'],
    ],
    ['that throws a wrapped Fatal is not retried', { failures: 1, how: 'fatal' }, 'failed', ['failed']],
  ])('%s', async (name, input, status, runs) => {
    const id = await system.publish({ type: 'probe', key: name, input })

    const task = await system.taskWhen(id, hasEnded)

    expect(task.status).toBe(status)
    expect(states(task)).toEqual(runs)
    expect(task.history).toHaveLength(runs.length)
    expect(task.history[0]).toMatchObject({
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      costMs: expect.any(Number),
    })
  })

  it('that fails shows why: GET has the causes and the log, the function logs one line for the run, and lists stay short', async () => {
    const id = await system.publish({ type: 'probe', key: 'seen', input: { failures: 1, how: 'fetch' } })

    const task = await system.taskWhen(id, hasEnded)

    // A line that a function writes reaches its log a moment later.
    await expect.poll(() => linesAbout('Probe', id)).toHaveLength(3)
    const lines = linesAbout('Probe', id)
    const list = await system.call('GET', '/v1/tasks?type=probe&limit=100')
    const cause = { name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:65533' }
    expect(task.runs[0]).toMatchObject({
      state: 'failed',
      error: { name: 'TypeError', message: 'fetch failed', causes: [cause] },
      log: expect.stringMatching(/^2.*Z INFO about to fail {"how":"fetch"}$/),
    })
    expect(task.runs[1]).not.toHaveProperty('log')
    expect(JSON.stringify(list.body.items)).not.toContain('about to fail')
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ['INFO', 'about to fail'],
      ['WARN', 'run failed'],
      ['INFO', 'run succeeded'],
    ])
    expect(lines[1]).toMatchObject({
      runId: task.runs[0].id,
      attempt: 1,
      nextTry: expect.any(String),
      error: { name: 'TypeError', causes: [cause], stack: expect.any(String) },
    })
  })

  it('that gives its task back costs no retry', async () => {
    const id = await system.publish({
      type: 'probe',
      key: 'given-back',
      input: { failures: 1, how: 'release' },
    })
    await system.taskWhen(id, task => task.runs.some(({ state }: { state: string }) => state === 'released'))
    await system.call('POST', `/v1/tasks/${id}/cancel`)

    const { body } = await system.call('GET', `/v1/tasks/${id}`)

    expect(body).toMatchObject({ status: 'cancelled', attempts: { used: 0 } })
  })

  it('that exceeds its time limit fails as timed out', async () => {
    const id = await system.publish({
      type: 'probe',
      key: 'slow',
      input: { sleepMs: 600_000 },
      timeoutMs: 300,
      retry: { maxRetries: 0 },
    })

    const task = await system.taskWhen(id, hasEnded)

    expect(task).toMatchObject({ status: 'failed', error: { name: 'TimedOut' } })
  })

  it('that ends its process at every attempt fails its task once the retry budget is spent', async () => {
    const id = await system.publish({
      type: 'probe',
      key: 'killer',
      input: { failures: 9, how: 'exit' },
      retry: { maxRetries: 1 },
      leaseMs: 1_000,
    })

    const task = await system.taskWhen(id, hasEnded)

    expect(task).toMatchObject({
      status: 'failed',
      error: { name: 'LeaseLost' },
      attempts: { used: 2, left: 0 },
    })
    expect(states(task)).toEqual(['lost', 'lost'])
  })

  it('shows as running in lists and counts while it runs', async () => {
    const id = await system.publish({
      type: 'probe',
      key: 'shown',
      input: { report: system.reportUrl, sleepMs: 600_000 },
    })
    await system.taskWhen(id, ({ status }) => status === 'running')

    const shown = await system.taskWhen(id, () => true)
    await expect
      .poll(async () =>
        (await system.call('GET', '/v1/tasks?type=probe&status=running')).body.items.map(
          ({ id: found }: { id: string }) => found,
        ),
      )
      .toContain(id)
    await expect.poll(async () => (await system.call('GET', '/v1/types/probe/counts')).body.running).toBe(1)
    await system.call('POST', `/v1/tasks/${id}/cancel`)

    expect(shown.runs[0]).toMatchObject({ state: 'running', workerId: expect.stringMatching(/^lambda-/) })
  })
})

describe('input and result', () => {
  it.each([
    ['of 300 KB', { result: 'x'.repeat(300_000) }],
    ['with every kind of text', { result: ['', 'ünï', '👩‍👩‍👧', '\u0000', '"\\', '\ud800'] }],
    ['empty', { result: {} }],
    ['nested', { result: { a: [{ b: [[[]]] }] } }],
    ['with any numbers', { result: [2 ** 53 - 1, -(2 ** 53 - 1), 0.1, 1e-300, 6.02e23, 1e300] }],
  ])('%s are read exactly as they were written', async (name, input) => {
    const id = await system.publish({ type: 'probe', key: name, input })

    const task = await system.taskWhen(id, hasEnded)

    expect(task.input).toEqual(input)
    expect(task.result).toEqual(input.result)
  })
})

describe('a handler that changes a global object of its process', () => {
  it('fails with an error, and changes nothing that is stored', async () => {
    const id = await system.publish({ type: 'probe', key: 'pollute', input: { how: 'pollute', failures: 1 } })

    const task = await system.taskWhen(id, hasEnded)

    expect(task).toMatchObject({ status: 'succeeded', runs: [{ state: 'failed' }, { state: 'succeeded' }] })
    expect(task.runs[0].error.message).toContain('polluted')
    const list = await system.call('GET', '/v1/tasks?type=probe&limit=100')
    expect(list.status).toBe(200)
    expect(JSON.stringify([task, list.body])).not.toContain('"polluted"')
  })
})

describe('a program that speaks HTTP', () => {
  /** Claims until there is work, and returns the claims. */
  // biome-ignore lint/suspicious/noExplicitAny: claims are read as users read them
  async function claimed(type: string, workerId: string): Promise<any[]> {
    for (;;) {
      const { body } = await system.call('POST', '/v1/claims', { type, workerId, waitMs: 5_000 })
      if (body.claims.length > 0) return body.claims
    }
  }

  it('claims in the order of priority, sends heartbeats and finishes; a report with a wrong fence is refused', async () => {
    await system.call('PUT', '/v1/types/render', { kind: 'http' })
    for (const [key, priority] of [
      ['low', 0],
      ['high', 9],
      ['mid', 5],
    ]) {
      await system.publish({ type: 'render', key, priority, input: { key } })
    }

    const { body } = await system.call('POST', '/v1/claims', { type: 'render', workerId: 'a', limit: 2 })
    const [first, second] = body.claims
    const run = `/v1/tasks/render:high/runs/${first.run.id}`
    const beat = await system.call('POST', `${run}/heartbeat`, {
      fence: first.run.fence,
      progress: { half: true },
    })
    const wrong = await system.call('POST', `${run}/succeed`, { fence: first.run.fence + 1 })
    const done = await system.call('POST', `${run}/succeed`, { fence: first.run.fence, result: 42 })
    const again = await system.call('POST', `${run}/succeed`, { fence: first.run.fence, result: 42 })
    const released = await system.call('POST', '/v1/runs/finish', {
      runs: [{ taskId: second.task.id, runId: second.run.id, fence: second.run.fence, outcome: 'release' }],
    })

    expect(body.claims.map(({ task }: { task: { id: string } }) => task.id)).toEqual([
      'render:high',
      'render:mid',
    ])
    expect(first.task).toMatchObject({ status: 'running', input: { key: 'high' } })
    expect(beat).toMatchObject({
      status: 200,
      body: { leaseUntil: expect.any(String), options: { heartbeatMs: 5_000 } },
    })
    expect(wrong.status).toBe(400)
    expect(done).toMatchObject({ status: 200, body: { task: { status: 'succeeded', result: 42 } } })
    expect(again.status).toBe(200)
    expect(released.body.results[0].status).toBe(200)
  })

  it('receives a task that falls due while its claim waits', async () => {
    await system.call('PUT', '/v1/types/later', { kind: 'http' })
    const id = await system.publish({ type: 'later', key: 'soon', delayMs: 1_200 })

    const [claim] = await claimed('later', 'a')

    expect(claim.task.id).toBe(id)
    expect(Date.parse(claim.task.startedAt)).toBeGreaterThanOrEqual(Date.parse(claim.task.dueAt))
  })

  it('that stops sending heartbeats loses its task when the lease ends', async () => {
    await system.call('PUT', '/v1/types/brief', {
      kind: 'http',
      defaults: { leaseMs: 1_000, heartbeatMs: 300 },
    })
    await system.publish({ type: 'brief', key: 'left' })

    const [{ run }] = await claimed('brief', 'a')
    // The live run keeps its lease. The lease of the next run must outlast the test.
    await system.call('PATCH', '/v1/tasks/brief:left', { leaseMs: 600_000 })
    const second = await claimed('brief', 'b')
    const late = await system.call('POST', `/v1/tasks/brief:left/runs/${run.id}/fail`, {
      fence: run.fence,
      error: { name: 'Late', message: 'too late' },
    })

    expect(second).toHaveLength(1)
    expect(late).toMatchObject({ status: 409, body: { reason: 'lost', holder: 'b' } })
  })
})

describe('tasks due later than an SQS delay reaches (15 minutes)', () => {
  it('share one EventBridge schedule per minute', async () => {
    const dueAt = Math.ceil((Date.now() + 30 * 60_000) / 60_000) * 60_000
    for (const i of [1, 2, 3]) {
      await system.publish({
        type: 'probe',
        key: `far-${i}`,
        input: {},
        dueAt: new Date(dueAt + i).toISOString(),
      })
    }
    const name = `minute-${dueAt / 60_000}`

    await expect
      .poll(
        () =>
          system.cloud.scheduler.schedules().filter(schedule => JSON.stringify(schedule).includes(name))
            .length,
      )
      .toBe(1)
    const { body } = await system.call('GET', '/v1/tasks/probe:far-1')
    expect(body).toMatchObject({ status: 'delayed', statusReason: 'due' })
  })
})
