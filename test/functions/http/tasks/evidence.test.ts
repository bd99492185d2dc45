import { describe, expect, it } from 'vitest'
import { aFlowApiPerTest } from '../../../support/http/a-flow-api.ts'
import { claimed, published, reported, type Shown } from '../../../support/http/an-api.ts'
import { SECOND } from '../../../support/tasks/a-task.ts'

const api = aFlowApiPerTest()
const ERROR = { name: 'E', message: 'no', stack: 'at the first birth' }
const endsOf = (runs: readonly Shown[]) =>
  runs.map(({ stage, state, outcome = state }) => [stage, outcome].filter(Boolean).join(' '))
const retry = (id: string, body: object = {}) => api.call('POST', `/v1/tasks/${id}/retry`, body)

describe('what was done before a restart', () => {
  it.each<[string, object]>([
    ['a retry', {}],
    ['a retry that cleans failed runs', { clean: ['failed'] }],
    ['a retry that cleans both', { clean: ['failed', 'succeeded'] }],
  ])('stays visible after %s of a plain task, and after the next one', async (_name, how) => {
    const id = await published(api, { key: 'k', retry: { maxRetries: 1, delayMs: 0 } })
    await reported(api, 'fail', { error: ERROR, log: 'the first line' })
    await reported(api, 'fail', { error: ERROR })
    const former = (await api.task(id)).runs

    await retry(id, how)
    const after = await api.task(id)
    await reported(api, 'succeed', { result: 7 })
    await retry(id)
    const twice = await api.task(id)

    expect(after).toMatchObject({ runs: [], formerRuns: former, attempts: { used: 0, left: 2 } })
    expect(former[0]).toMatchObject({ error: ERROR, log: 'the first line' })
    expect(endsOf(after.history)).toEqual(['failed', 'failed'])
    expect(endsOf(twice.formerRuns)).toEqual(['failed', 'failed', 'succeeded'])
    expect(twice.formerRuns.slice(0, 2)).toEqual(former)
    expect(twice.formerRuns[2].result).toBe(7)
    expect(twice.operations).toHaveLength(2)
  })

  it('is shown once when a restart keeps it as a run that counts', async () => {
    const id = await published(api, { key: 'k', concurrency: 2, retry: { maxRetries: 0 } })
    await reported(api, 'succeed')
    const failBySecond = async () => {
      const { path, fence } = await claimed(api, { workerId: 'w2' })
      await api.call('POST', `${path}/fail`, { fence, error: ERROR })
    }
    await failBySecond()

    for (const _ of [1, 2]) {
      await retry(id, { clean: ['failed'] })
      await failBySecond()
    }
    const kept = await api.task(id)
    await retry(id)
    const { runs, formerRuns } = await api.task(id)

    expect([endsOf(kept.runs), endsOf(kept.formerRuns)]).toEqual([
      ['succeeded', 'failed'],
      ['failed', 'failed'],
    ])
    expect([runs, endsOf(formerRuns)]).toEqual([[], ['succeeded', 'failed', 'failed', 'failed']])
  })

  it('stays visible for a flow, which begins with its first step and continues by its own runs only', async () => {
    await api.begun()
    await api.system.clock.advance(SECOND)
    await api.fail('declined')
    await api.system.clock.advance(SECOND)
    await api.succeed()
    await api.system.clock.advance(SECOND)
    await api.succeed()

    await api.retry('restart')
    const over = await api.get()
    await api.succeed({ place: 8 })
    await api.fail('declined again')
    await api.fail('bank closed')
    const { status, body } = await api.retry('continue')

    const ends = ['reserve succeeded', 'charge failed', 'undo charge succeeded', 'undo reserve succeeded']
    expect([endsOf(over.formerRuns), endsOf(over.history), over.runs]).toEqual([ends, ends, []])
    expect([status, body.task.status]).toEqual([200, 'succeeded'])
    expect((await api.get()).params.reserve).toEqual({ place: 8 })
  })

  it('goes with the task when it is removed', async () => {
    const id = await published(api, { key: 'k', delayMs: 0 })
    await reported(api, 'fail', { fatal: true, error: ERROR })
    await retry(id)
    await api.call('DELETE', `/v1/tasks/${id}`)

    await published(api, { key: 'k' })

    expect(await api.task(id)).not.toHaveProperty('formerRuns')
    expect((await api.task(id)).history).toEqual([])
  })
})
