import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { anApiPerTest, claimed, published, reported } from '../../../support/http/an-api.ts'

const ERROR = {
  name: 'TypeError',
  message: 'fetch failed',
  stack: 'TypeError: fetch failed\n    at job.py:7',
  causes: [{ name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:1' }],
}

const api = anApiPerTest()

/** Publishes a task, claims it and reports that its run failed. */
async function failed(said: object) {
  await published(api, { key: 'a' })
  return reported(api, 'fail', { error: ERROR, ...said })
}

describe('a failure that a worker reports over HTTP', () => {
  it('is shown with its causes and its log by GET of the task, and in short by lists', async () => {
    const { status, id } = await failed({ log: 'first\nlast 😀', fatal: true })

    const shown = await api.call('GET', pathOf('get', id))
    const list = await api.call('GET', '/v1/tasks?type=jobs')

    expect(status).toBe(200)
    expect(shown.body).toMatchObject({
      status: 'failed',
      error: ERROR,
      runs: [{ error: ERROR, log: 'first\nlast 😀' }],
    })
    expect(list.body.items).toMatchObject([{ runs: [{ state: 'failed' }] }])
    expect(JSON.stringify(list.body)).not.toContain('last 😀')
  })

  it('is cut to 4 KB when its error is longer', async () => {
    const causes = Array.from({ length: 5 }, () => ({ name: 'E', message: 'é'.repeat(5_000) }))
    const { id } = await failed({ error: { name: 'E', message: 'é'.repeat(5_000), causes } })

    const { error } = (await api.call('GET', pathOf('get', id))).body.runs[0]

    const texts = [error.name, error.message, ...error.causes.flatMap(Object.values)]
    expect(Buffer.byteLength(texts.join(''))).toBeLessThanOrEqual(4_096)
    expect(error.causes).toHaveLength(5)
  })

  it.each([
    ['a log of 4,096 bytes', { log: 'é'.repeat(2_048) }, 200, []],
    ['a log of more', { log: 'é'.repeat(2_049) }, 413, ['log']],
    ['a log that is not text', { log: 7 }, 400, ['log']],
    ['six causes', { error: { ...ERROR, causes: Array(6).fill(ERROR.causes[0]) } }, 400, ['error.causes']],
    [
      'a cause of another form',
      { error: { ...ERROR, causes: [{ message: 'x' }] } },
      400,
      ['error.causes.0.name'],
    ],
  ])('with %s %j is answered with %i', async (_name, said, expected, paths) => {
    const { status, body } = await failed(said)

    expect([status, (body.errors ?? []).map(({ path }: { path: string }) => path)]).toEqual([expected, paths])
  })

  it('in a batch names the path of a log that is too long', async () => {
    await published(api, { key: 'a' })
    const { id, runId, fence } = await claimed(api)
    const member = { taskId: id, runId, fence, outcome: 'fail', error: ERROR, log: 'x'.repeat(5_000) }

    const { body } = await api.call('POST', '/v1/runs/finish', { runs: [member] })

    expect(body.results).toMatchObject([{ status: 413, problem: { errors: [{ path: 'runs.0.log' }] } }])
  })
})
