import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import type { Task } from '../../../../shared/core/task/task.ts'
import { readTask } from '../../../../shared/runtime/kernel/heads.ts'
import { planChanges } from '../../../../shared/runtime/stream/stream.ts'
import { anApiPerTest, expectRefused, published, type Shown } from '../../../support/http/an-api.ts'

/** Three of these results are too long for one claim's answer. */
const LONG = 'x'.repeat(200_000)

const api = anApiPerTest()

async function claimOne(): Promise<Shown> {
  const { body } = await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w1', limit: 1 })
  return body.claims[0]
}

/** Runs the members of a chord with these results, and claims its callback. */
async function callbackAfter(results: readonly unknown[]): Promise<Shown> {
  await api.call('POST', '/v1/canvases', {
    chord: { group: results.map(() => ({ type: 'jobs' })), then: { type: 'jobs', input: ['first'] } },
  })
  const ended: Task[] = []
  for (const result of results) {
    const { task, run } = await claimOne()
    await api.call('POST', `${pathOf('get', task.id)}/runs/${run.id}/succeed`, { fence: run.fence, result })
    const head = await readTask(api.system, task.id)
    if (head) ended.push(head)
  }
  await planChanges(
    api.system,
    ended.map((task, index) => ({ task, position: String(index) })),
  )
  return claimOne()
}

describe('a list that was handed on', () => {
  it('is part of the claim while it is short', async () => {
    const { task } = await callbackAfter([1, 2, 3])

    expect(task).toMatchObject({ previous: [1, 2, 3], input: ['first', 1, 2, 3] })
    expect(task).not.toHaveProperty('previousPaged')
    expect((await api.call('GET', pathOf('get', task.id))).body).toMatchObject({
      previous: [1, 2, 3],
      input: ['first'],
    })
  })

  it('is shown with its task while it is short; GET marks a longer list as paged', async () => {
    const { task } = await callbackAfter(['x'.repeat(10_000), 'y'.repeat(10_000)])
    const { task: longer } = await callbackAfter(['x'.repeat(10_000), 'y'.repeat(10_500)])

    const [shown, paged] = [task, longer].map(one => api.call('GET', pathOf('get', one.id)))

    expect((await shown)?.body.previous).toEqual(['x'.repeat(10_000), 'y'.repeat(10_000)])
    expect((await paged)?.body).toMatchObject({ previousPaged: true })
    expect((await paged)?.body).not.toHaveProperty('previous')
    const pages = await api.call('GET', `${pathOf('get', longer.id)}/previous`)
    expect(pages.body.items).toHaveLength(2)
  })

  it('that is one large result is shown with its task', async () => {
    const result = 'x'.repeat(100_000)
    await api.call('POST', '/v1/canvases', { chain: [{ type: 'jobs' }, { type: 'jobs' }] })
    const { task, run } = await claimOne()
    await api.call('POST', `${pathOf('get', task.id)}/runs/${run.id}/succeed`, { fence: run.fence, result })
    const head = await readTask(api.system, task.id)
    await planChanges(api.system, head ? [{ task: head, position: 'p' }] : [])

    const next = await claimOne()

    expect((await api.call('GET', pathOf('get', next.task.id))).body.previous).toBe(result)
  })

  it('is read in pages when it is too long for an answer', async () => {
    const { task } = await callbackAfter([LONG, LONG, LONG])

    const page = await api.call('GET', `${pathOf('get', task.id)}/previous?limit=2`)
    const rest = await api.call('GET', `${pathOf('get', task.id)}/previous?cursor=${page.body.nextCursor}`)

    expect(task).toMatchObject({ previousPaged: true, input: ['first'] })
    expect(task).not.toHaveProperty('previous')
    expect([...page.body.items, ...rest.body.items]).toEqual([LONG, LONG, LONG])
    expect(rest.body).not.toHaveProperty('nextCursor')
  })

  it('has no page for a cursor that was made up', async () => {
    const id = await published(api)

    await expectRefused(api.call('GET', `${pathOf('get', id)}/previous?cursor=there`), 'cursor')
  })
})
