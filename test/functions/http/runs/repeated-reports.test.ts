import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { lose } from '../../../../shared/core/run/lease.ts'
import { readTask } from '../../../../shared/runtime/kernel/heads.ts'
import { anApiPerTest, claimed, published, type Shown } from '../../../support/http/an-api.ts'
import { SECOND } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

const FAILURE = { name: 'E', message: 'no' }
const get = async (id = 'jobs:a'): Promise<Shown> => (await api.call('GET', pathOf('get', id))).body

type Run = Awaited<ReturnType<typeof claimed>>

async function aRun(more: object = {}): Promise<Run> {
  await published(api, { key: 'a', stage: 'fetch', ...more })
  return claimed(api)
}

const say = (run: Run, word: string, more: object = {}) =>
  api.call('POST', `${run.path}/${word}`, { fence: run.fence, ...more })

const sayInBatch = async ({ id, runId, fence }: Run, outcome: string, more: object = {}): Promise<Shown> => {
  const runs = [{ taskId: id, runId, fence, outcome, ...more }]
  return (await api.call('POST', '/v1/runs/finish', { runs })).body.results[0]
}

describe('a worker that reports a second, different end is refused with the stored end', () => {
  const [ONE, NO] = [{ result: 1 }, { error: FAILURE }]
  const NEVER = { error: { ...FAILURE, message: 'never' } }
  const next = (stage: string) => ({ ...ONE, next: { stage } })

  it.each<[string, [string, object], [string, object], object]>([
    ['another result', ['succeed', ONE], ['succeed', { result: 2 }], { state: 'succeeded', ...ONE }],
    ['a failure', ['succeed', ONE], ['fail', NO], { state: 'succeeded', ...ONE }],
    [
      'another stage',
      ['succeed', next('store')],
      ['succeed', next('ship')],
      { state: 'succeeded', stage: 'fetch' },
    ],
    ['another error', ['fail', NO], ['fail', NEVER], { state: 'failed', ...NO }],
    ['that it was fatal', ['fail', NO], ['fail', { ...NO, fatal: true }], { state: 'failed', ...NO }],
    ['another delay', ['release', { delayMs: 5 }], ['release', { delayMs: 6 }], { state: 'released' }],
  ])('%s', async (_name, [word, more], [otherWord, other], stored) => {
    const run = await aRun()
    await say(run, word, more)
    const before = await get()

    const refused = await say(run, otherWord, other)
    const inBatch = await sayInBatch(run, otherWord, other)
    const beat = await say(run, 'heartbeat')

    for (const { status, body } of [refused, beat]) {
      expect(status).toBe(409)
      expect(body).toMatchObject({ reason: 'ended', run: { ...stored, endedAt: expect.any(String) } })
      expect(body.detail).toContain('only the same report is accepted again')
    }
    expect(inBatch).toMatchObject({ status: 409, reason: 'ended', problem: { run: stored } })
    expect(await say(run, word, more)).toMatchObject({ status: 200 })
    expect(await sayInBatch(run, word, more)).toMatchObject({ status: 200 })
    expect(await get()).toEqual(before)
  })
})

describe('a repeated report', () => {
  it('is answered with the stored end, though the error was cut', async () => {
    const run = await aRun({ retry: { maxRetries: 0 } })
    const error = { ...FAILURE, message: 'm'.repeat(300), stack: 'at x' }
    await say(run, 'fail', { error })

    const again = await say(run, 'fail', { error })
    const other = await say(run, 'fail', { error: { ...error, stack: 'at y' } })

    expect(again).toMatchObject({ status: 200, body: { task: { status: 'failed' } } })
    const { name, message } = error
    expect(other).toMatchObject({ status: 409, body: { reason: 'ended', run: { error: { name, message } } } })
  })

  it('is recognised by the record of its run after the task has dropped the run', async () => {
    const first = await aRun({ retry: { maxRetries: 20, delayMs: 0 } })
    await say(first, 'fail', { error: FAILURE, retryInMs: 0 })
    for (let runs = 0; runs < 8; runs++)
      await say(await claimed(api), 'fail', { error: FAILURE, retryInMs: 0 })

    expect(await say(first, 'fail', { error: FAILURE, retryInMs: 0 })).toMatchObject({ status: 200 })
    expect(await say(first, 'fail', { error: FAILURE, retryInMs: 1 })).toMatchObject({
      status: 409,
      body: { reason: 'ended', run: { state: 'failed', error: FAILURE } },
    })
  })

  it('about a run without a record is refused, and the answer names the reason', async () => {
    const first = await aRun({ retry: { maxRetries: 50, delayMs: 0 } })
    await say(first, 'fail', { error: FAILURE, retryInMs: 0 })
    for (let runs = 0; runs < 21; runs++)
      await say(await claimed(api), 'fail', { error: FAILURE, retryInMs: 0 })

    const { status, body } = await say(first, 'fail', { error: FAILURE, retryInMs: 0 })

    expect(status).toBe(409)
    expect(body).toMatchObject({
      reason: 'ended',
      detail: expect.stringContaining('its record is no longer kept'),
    })
  })

  it('learns from the record that its run was lost', async () => {
    const lost = await aRun({ retry: { maxRetries: 50, delayMs: 0 } })
    await api.system.clock.advance(16 * SECOND)
    const task = await readTask(api.system, 'jobs:a')
    const decision = task && lose(task, api.system.clock.now())
    if (decision?.ok) await api.system.tasks.apply(decision.change)
    for (let runs = 0; runs < 8; runs++)
      await say(await claimed(api), 'fail', { error: FAILURE, retryInMs: 0 })

    expect(await say(lost, 'succeed')).toMatchObject({
      status: 409,
      body: { reason: 'lost', run: { state: 'lost' } },
    })
  })

  it('of a run that was never claimed is a 404; a wrong fence is refused with the right one', async () => {
    const run = await aRun()
    const unborn = { ...run, path: run.path.replace(/[0-9]+$/, String(run.fence + 1)), fence: run.fence + 1 }

    expect(await say(unborn, 'succeed')).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('there is no run') },
    })
    expect(await say({ ...run, fence: run.fence + 1 }, 'succeed')).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'fence', message: expect.stringContaining(`must be ${run.fence}, not`) }] },
    })
  })
})

it('a live run shows its stage', async () => {
  await aRun()

  expect((await get()).runs).toMatchObject([{ state: 'running', stage: 'fetch' }])
})
