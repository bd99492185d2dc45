import { beforeAll, describe, expect, it } from 'vitest'
import { aLocalSystem } from '../../support/local-system/local-system.ts'
import { writeTasks } from '../../support/local-system/write-tasks.ts'
import { aTask } from '../../support/tasks/a-task.ts'

/** A bulk operation and searches on a local system with 50,000 tasks, whose heads the test writes into the table itself. */

const TASKS = 50_000
const FAILED = 10_000
const SHARDS = 4

const system = aLocalSystem()

beforeAll(async () => {
  await system.call('PUT', '/v1/types/many', { kind: 'http' })
  const now = Date.now()
  await writeTasks(system, TASKS, nth => failedOrNot(nth, now))
}, 600_000)

/** The first 10,000 have failed, the others have succeeded. */
function failedOrNot(nth: number, now: number) {
  const finishedAt = now - TASKS + nth
  const ending = nth < FAILED ? { error: { name: 'E', message: `no ${nth}.` } } : {}
  return aTask({
    ...{ type: 'many', key: `k${nth}`, kind: 'http', ordering: 'priority', shard: nth % SHARDS },
    ...{ state: nth < FAILED ? 'failed' : 'succeeded', finishedAt, updatedAt: finishedAt },
    ...{ createdAt: finishedAt, dueAt: finishedAt, expiresAt: now + 86_400_000, userId: `u${nth}` },
    ...ending,
  })
}

describe('among 50,000 tasks', () => {
  it.each([
    ['many:k31000', 'id'],
    ['k31000', 'key'],
    ['u31000', 'user'],
  ])('%s is found by its %s on the first page', async (q, match) => {
    const { body } = await system.call('GET', `/v1/search?q=${q}`)

    expect({ ...body, items: body.items.map(({ id }: { id: string }) => id) }).toMatchObject({
      items: ['many:k31000'],
      matches: [match],
    })
    expect(body.examined).toBeLessThan(100)
  })

  it('the text of an error is found page by page', async () => {
    const pages: number[] = []
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await system.call('GET', `/v1/search?q=${encodeURIComponent('no 5.')}${cursor}`)
      pages.push(body.examined)
      found.push(...body.items.map(({ id }: { id: string }) => id))
      if (body.nextCursor === undefined) break
      cursor = `&cursor=${body.nextCursor}`
    }

    expect(found).toEqual(['many:k5'])
    expect(Math.max(...pages)).toBeLessThan(2_200)
    expect(pages.reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(TASKS)
  }, 300_000)

  it('10,000 failed ones are retried after the caller has left, on record', async () => {
    const { status, body } = await system.call('POST', '/v1/bulk', {
      ...{ action: 'retry', type: 'many', status: ['failed'] },
    })
    const isOver = ({ state }: { state: string }) => state === 'finished'
    const record = await system.answerWhen(`/v1/bulk/${body.id}`, isOver, 800_000)
    const { operations } = (await system.call('GET', '/v1/tasks/many:k9999')).body

    expect(status).toBe(202)
    expect(record).toMatchObject({ examined: FAILED, selected: FAILED, done: FAILED, leftOut: {} })
    expect(operations).toEqual([{ at: expect.any(String), by: record.by, what: 'restart' }])
    expect((await system.call('GET', '/v1/types/many')).body.operations).toMatchObject([
      { what: 'put' },
      { by: record.by, what: 'bulk' },
    ])
  }, 900_000)
})
