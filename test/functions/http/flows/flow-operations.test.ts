import { describe, expect, it } from 'vitest'
import { aFlowApiPerTest, FLOW, ORDER, STEPS, statesOf } from '../../../support/http/a-flow-api.ts'
import { expectRefused } from '../../../support/http/an-api.ts'
import { MINUTE } from '../../../support/tasks/a-task.ts'

const api = aFlowApiPerTest()

describe('an operator', () => {
  it.each<[string, string, string, string[], object?]>([
    ['has the failed step done again', 'retry-do', 'ready', ['succeeded', 'pending']],
    ['has the failed undo tried again', 'retry-undo', 'compensating', ['succeeded', 'failed']],
    ['counts the failed undo as done', 'skip-undo', 'compensating', ['succeeded', 'skipped']],
    ['counts the failed step as done', 'continue', 'succeeded', ['succeeded', 'succeeded'], {}],
  ])('%s', async (_name, action, after, states, attempts = { used: 0, left: 1 }) => {
    await api.halted()

    const { status, body } = await api.retry(action)

    expect(status).toBe(200)
    expect(statesOf(body.task)).toEqual(states)
    expect(body.task).toMatchObject({ status: after, attempts })
    expect(body.task).not.toHaveProperty('needsAttention')
  })

  it('learns which step is undone when a flow cannot continue', async () => {
    await api.begun()
    await api.fail('declined')
    await api.succeed()
    await api.succeed()

    const { status, body } = await api.retry('continue')

    expect(status).toBe(409)
    expect(body.detail).toContain(
      'the step "reserve" counts as undone, and came before the failed step "charge"',
    )
  })

  it('starts a flow over from its first step, by name only', async () => {
    await api.halted()

    const { status, body } = await api.retry('restart')

    expect(status).toBe(200)
    expect(body.task).toMatchObject({
      status: 'ready',
      cursor: 0,
      steps: [{ state: 'pending' }, { state: 'pending' }],
    })
    expect((await api.claim()).task.params).toEqual({ sku: 'x' })
  })

  it.each(['retry-do', 'continue', 'retry-undo', 'skip-undo'])(
    'is refused %s where it is impossible',
    async action => {
      await api.begun()
      expect((await api.retry(action)).status).toBe(409)
      await api.fail('declined')
      expect((await api.retry(action)).status).toBe(409)
      await api.succeed()
      await api.succeed()
      const refused = await api.retry(action)

      expect(refused).toMatchObject({
        status: 409,
        body: { detail: expect.stringMatching(/^order:k (has|cannot continue)/) },
      })
      await api.call('POST', '/v1/tasks', { type: 'jobs', key: 'plain' })
      expect((await api.call('POST', '/v1/tasks/jobs:plain/retry', { action })).status).toBe(409)
      expect((await api.call('POST', '/v1/tasks/jobs:none/retry', { action })).status).toBe(404)
    },
  )

  const plain = { ...FLOW, steps: STEPS.map(({ name, do: action }) => ({ name, do: action })) }
  const cancelled = async () => {
    await api.begun()
    await api.call('POST', `${ORDER}/cancel`)
    await api.succeed()
  }
  const undone = async () => {
    await api.begun()
    for (const end of [() => api.fail('declined'), api.succeed, api.succeed]) await end()
  }
  const failed = async () => {
    await api.put(plain)
    await api.publish()
    await api.succeed()
    await api.fail('declined')
  }
  it.each<[string, () => Promise<void>, string, string[]]>([
    ['undoes again where an undo has failed', api.halted, 'retry-undo', ['succeeded', 'failed']],
    ['does the failed step again', failed, 'retry-do', ['succeeded', 'pending']],
  ])('that names no action %s, which the task records', async (_name, prepared, what, states) => {
    await prepared()

    const refused = await api.call('POST', `${ORDER}/retry`, { clean: ['failed'] })
    const { body } = await api.retry()

    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('"restart"')])
    expect([statesOf(body.task), body.task.operations]).toEqual([states, [expect.objectContaining({ what })]])
  })

  it.each([
    ['undone', undone],
    ['cancelled', cancelled],
  ])('must name the restart of a flow that is %s', async (_name, prepared) => {
    await prepared()

    const refused = await api.retry()
    const restarted = await api.retry('restart')

    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('"restart"')])
    expect([restarted.status, statesOf(restarted.body.task)]).toEqual([200, ['pending', 'pending']])
  })

  it('learns why a running flow does not start over', async () => {
    await api.begun()

    expect(await api.retry()).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('is a running flow') },
    })
  })

  it('cancels a flow, which undoes its steps, and may repeat that', async () => {
    await api.begun()
    await api.claim()

    const first = await api.call('POST', `${ORDER}/cancel`)
    const again = await api.call('POST', `${ORDER}/cancel`)

    expect(first).toMatchObject({ status: 200, body: { task: { status: 'compensating' } } })
    expect(statesOf(first.body.task)).toEqual(['succeeded', 'failed'])
    expect(again.status).toBe(200)
    await api.succeed()
    await api.succeed()
    expect(await api.get()).toMatchObject({
      status: 'cancelled',
      steps: [{ state: 'undone' }, { state: 'undone' }],
    })
  })

  it('cannot cancel a flow that undoes its steps, but can remove it', async () => {
    await api.begun()
    await api.fail('declined')

    expect((await api.call('POST', `${ORDER}/cancel`)).status).toBe(409)
    expect((await api.call('DELETE', ORDER)).status).toBe(204)
    expect(await api.claim()).toBeUndefined()
  })

  it('changes fields of the whole flow, and none of its steps', async () => {
    await api.begun()

    const changed = await api.call('PATCH', ORDER, { priority: 8, deadlineMs: MINUTE, input: { sku: 'y' } })
    expect(changed).toMatchObject({ status: 200, body: { task: { priority: 8 } } })
    expect((await api.claim()).task.params).toEqual({ sku: 'y', reserve: { place: 7 } })
    for (const [body, path] of [
      [{ timeoutMs: 5 }, 'timeoutMs'],
      [{ stage: 'x' }, 'stage'],
      [{ input: 7 }, 'input'],
      [{ input: { reserve: 1 } }, 'input.reserve'],
    ] as const) {
      const refused = await expectRefused(api.call('PATCH', ORDER, body), path)
      expect(refused.body.errors).toHaveLength(1)
    }
  })
})
