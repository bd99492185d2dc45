import { describe, expect, it } from 'vitest'
import { planChanges } from '../../../../shared/runtime/stream/stream.ts'
import { aFlowApiPerTest, FLOW, ORDER } from '../../../support/http/a-flow-api.ts'
import type { Shown } from '../../../support/http/an-api.ts'
import { MINUTE, NOW, SECOND } from '../../../support/tasks/a-task.ts'

const api = aFlowApiPerTest()

const ONCE = { retry: { maxRetries: 0 } }

describe('a claim of a step', () => {
  it('shows the flow’s id and type, the step, and the input of the step', async () => {
    await api.put(FLOW)
    await api.publish()
    const first = await api.claim()
    await api.call('POST', `${ORDER}/runs/${first.run.id}/succeed`, { fence: 1, result: { place: 7 } })
    const second = await api.claim()

    expect(first.task).toMatchObject({
      id: 'order:k',
      type: 'order',
      status: 'running',
      step: 'reserve',
      direction: 'do',
      params: { sku: 'x' },
      input: { sku: 'x' },
    })
    expect(second.task).toMatchObject({
      step: 'charge',
      cursor: 1,
      params: { sku: 'x', reserve: { place: 7 } },
      input: { cents: 5 },
    })
    expect(first.run.idempotencyKey).not.toBe(second.run.idempotencyKey)
    expect((await api.get()).input).toEqual({ sku: 'x' })
  })

  it('counts as an attempt of its step; a claim of an undo counts as an attempt of the undo', async () => {
    const twice = { type: 'jobs', retry: { maxRetries: 1, delayMs: 0 } }
    await api.put({ kind: 'flow', steps: [{ name: 'reserve', do: twice, undo: twice }] })
    await api.publish()
    const countsOf = async () => {
      const [step] = (await api.get()).steps
      return [step.attempts, step.undo?.attempts]
    }
    const counts = [await countsOf()]
    for (let run = 0; run < 3; run++) {
      const { run: claimed } = await api.claim()
      counts.push(await countsOf())
      const error = { name: 'E', message: 'no' }
      await api.call('POST', `${ORDER}/runs/${claimed.id}/fail`, { fence: claimed.fence, error })
    }

    expect([...counts, await countsOf()]).toEqual([
      [0, undefined],
      [1, undefined],
      [2, undefined],
      [2, 1],
      [2, 1],
    ])
  })

  it('of an undo has the direction undo and the options of the undo', async () => {
    await api.put(FLOW)
    await api.publish()
    await api.fail('none left')

    const { task, run } = await api.claim()

    expect(task).toMatchObject({
      status: 'compensating',
      step: 'reserve',
      direction: 'undo',
      options: { timeoutMs: 5_000 },
    })
    expect(run.idempotencyKey).toMatch(/\/undo reserve$/)
  })

  it('cannot move on to a stage: the flow declares the next step', async () => {
    await api.put(FLOW)
    await api.publish()
    const { run } = await api.claim()

    const word = { fence: run.fence, next: { stage: 'store' } }
    const { status, body } = await api.call('POST', `${ORDER}/runs/${run.id}/succeed`, word)

    expect(status).toBe(400)
    expect(body.errors).toEqual([{ path: 'next', message: expect.stringContaining('not for flows') }])
    expect(await api.get()).toMatchObject({ status: 'running', cursor: 0 })
  })

  it('whose result is too long for the flow’s parameters learns how many bytes are left; the last one may be repeated', async () => {
    const step = (nth: number) => ({ name: `s${nth}`, do: { type: 'jobs', ...ONCE } })
    await api.put({ kind: 'flow', steps: [1, 2, 3, 4, 5, 6, 7].map(step) })
    await api.publish()
    const result = 'x'.repeat(350_000)
    const report = async () => {
      const { run } = await api.claim()
      return { path: `${ORDER}/runs/${run.id}/succeed`, body: { fence: run.fence, result } }
    }
    const send = ({ path, body }: Awaited<ReturnType<typeof report>>) => api.call('POST', path, body)
    for (let nth = 1; nth <= 4; nth++) expect((await send(await report())).status).toBe(200)
    const fifth = await report()
    expect((await send(fifth)).status).toBe(200)

    const again = await send(fifth)
    const other = await send({ ...fifth, body: { ...fifth.body, result: `${result}y` } })
    const sixth = await send(await report())

    expect(again.status).toBe(200)
    expect(other).toMatchObject({ status: 409, body: { reason: 'ended', run: { state: 'succeeded' } } })
    const message = expect.stringMatching(/have \d+ bytes left/)
    expect(sixth).toMatchObject({ status: 413, body: { errors: [{ path: 'result', message }] } })
  })

  it('hands on long results, too', async () => {
    await api.put(FLOW)
    await api.publish({ input: { sku: 'y'.repeat(300) } })
    await api.succeed({ list: 'x'.repeat(1_000) })

    expect((await api.claim()).task.params).toEqual({
      sku: 'y'.repeat(300),
      reserve: { list: 'x'.repeat(1_000) },
    })
  })

  it('is made under the type of the step: the flow’s own type cannot be claimed', async () => {
    await api.put(FLOW)
    await api.publish()

    const refused = await api.call('POST', '/v1/claims', { type: 'order', workerId: 'w1' })

    expect(refused.status).toBe(409)
  })
})

describe('GET of a flow', () => {
  it('shows the state of its steps', async () => {
    await api.begun()
    await api.system.clock.advance(SECOND)
    await api.claim()

    expect(await api.get()).toMatchObject({
      status: 'running',
      cursor: 1,
      step: 'charge',
      direction: 'do',
      params: { sku: 'x', reserve: { place: 7 } },
      steps: [
        {
          name: 'reserve',
          state: 'succeeded',
          attempts: 1,
          result: { place: 7 },
          startedAt: new Date(NOW).toISOString(),
        },
        { name: 'charge', state: 'running', attempts: 1, startedAt: new Date(NOW + SECOND).toISOString() },
      ],
    })
  })

  it('shows its end, and the result of its last step as its result', async () => {
    await api.begun()
    const receipt = 'paid '.repeat(100)
    const last = await api.succeed(receipt)

    const task = await api.get()

    expect(last).toMatchObject({ status: 'succeeded', result: receipt })
    expect(task).toMatchObject({ status: 'succeeded', result: receipt, cursor: 1 })
    for (const field of ['needsAttention', 'step', 'direction', 'error'])
      expect(task).not.toHaveProperty(field)
  })

  it('shows what was undone, and why', async () => {
    await api.begun()
    await api.fail('declined')
    expect(await api.get()).toMatchObject({
      status: 'compensating',
      error: { message: 'declined' },
      cursor: 1,
    })
    await api.succeed()
    await api.succeed()

    expect(await api.get()).toMatchObject({
      status: 'failed',
      error: { message: 'declined' },
      cursor: 1,
      steps: [
        { state: 'undone', result: { place: 7 }, undo: { attempts: 1, endedAt: expect.any(String) } },
        { state: 'undone', attempts: 1, error: { message: 'declined' }, undo: { attempts: 1 } },
      ],
    })
  })

  it('shows that it needs attention once an undo has failed for good', async () => {
    await api.halted()

    expect(await api.get()).toMatchObject({
      status: 'failed',
      needsAttention: true,
      error: { message: 'declined' },
      steps: [{ state: 'succeeded' }, { state: 'undo-failed', undo: { error: { message: 'bank closed' } } }],
    })
    await planChanges(api.system, [{ task: (await api.system.tasks.head('order:k'))!, position: 'p' }])
    expect(api.complaints.map(({ message, fields }) => [message, fields.nextTry])).toEqual([
      ['run failed', 'never'],
      ['run failed', 'never'],
      ['an undo has failed for good: the flow needs attention', undefined],
    ])
  })

  it('is counted once, and listed, under its own type', async () => {
    await api.begun()
    const counts = async () => (await api.call('GET', '/v1/types/order/counts')).body
    const listed = async (status: string) =>
      (await api.call('GET', `/v1/tasks?type=order&status=${status}`)).body.items.map(({ id }: Shown) => id)
    const none = { delayed: 0, ready: 0, running: 0, compensating: 0, succeeded: 0, failed: 0, cancelled: 0 }

    expect(await counts()).toEqual({ ...none, ready: 1 })
    const { run } = await api.claim()
    expect(await counts()).toEqual({ ...none, running: 1 })
    const error = { name: 'Error', message: 'declined' }
    await api.call('POST', `${ORDER}/runs/${run.id}/fail`, { fence: 2, error })
    expect(await counts()).toEqual({ ...none, compensating: 1 })
    await api.claim()
    expect(await counts()).toEqual({ ...none, compensating: 1 })
    expect(await listed('compensating')).toEqual(['order:k'])
    expect(await listed('running')).toEqual([])
    expect((await api.call('GET', '/v1/types/jobs/counts')).body).toEqual(none)
  })

  it('shows that an undo waits for a retry', async () => {
    const patient = { type: 'jobs', retry: { maxRetries: 1, delayMs: MINUTE } }
    await api.put({ kind: 'flow', steps: [{ name: 'a', do: { type: 'jobs', ...ONCE }, undo: patient }] })
    await api.publish()
    await api.fail('no')
    await api.fail('bank closed')

    expect(await api.get()).toMatchObject({ status: 'compensating', statusReason: 'retry' })
  })
})
