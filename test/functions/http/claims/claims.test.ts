import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { isOfTask } from '../../../../shared/core/change.ts'
import type { Head } from '../../../../shared/core/task/head.ts'
import { readTasks } from '../../../../shared/runtime/kernel/heads.ts'
import { planTasks } from '../../../../shared/runtime/plan/plan.ts'
import { anApiPerTest, type Claim, claims, published } from '../../../support/http/an-api.ts'
import { NOW, SECOND } from '../../../support/tasks/a-task.ts'
import { aTaskStore } from '../../../support/worlds/memory-system.ts'

const api = anApiPerTest()

const claim = (more?: object) => claims(api, more)

const keysOf = (claims: readonly Claim[]) => claims.map(({ task }) => task.key)
/** Does the planner's work for published tasks. */
const plan = async () => {
  const partition = (shard: number) => ({
    index: 'view' as const,
    partition: `jobs#open#${shard}`,
    limit: 100,
  })
  const pages = await Promise.all([0, 1, 2, 3].map(shard => api.system.tasks.page(partition(shard))))
  const ids = pages.flatMap(({ entries }) => entries.map(({ id }) => id))
  await planTasks(api.system, await readTasks(api.system, ids))
}

describe('a claim', () => {
  it('hands out running tasks, with their input and what a report for the run needs', async () => {
    const input = { text: 'x'.repeat(1_000) }
    await published(api, { key: 'a', input })

    const [claimed] = await claim()

    expect(claimed?.task).toMatchObject({
      id: 'jobs:a',
      status: 'running',
      input,
      attempts: { used: 1, left: 3 },
    })
    expect(claimed?.run).toEqual({
      id: claimed?.task.runs[0].id,
      fence: 1,
      leaseUntil: new Date(NOW + 15 * SECOND).toISOString(),
      idempotencyKey: expect.stringMatching(/^jobs:a\/[0-9A-Z]{26}$/),
    })
    expect(await claim()).toEqual([])
  })

  it('whose task cannot be shown is given back at once, and the other tasks are handed out', async () => {
    const tasks = aTaskStore()
    const oddTimeOfBad = (task: Head) => (task.key === 'bad' ? { ...task, createdAt: Number.NaN } : task)
    let isClaiming = false
    await api.renew({
      tasks: {
        ...tasks,
        apply: async change => {
          const applied = await tasks.apply(change)
          return applied.applied && isClaiming ? { ...applied, head: oddTimeOfBad(applied.head) } : applied
        },
      },
    })
    await published(api, { key: 'bad' })
    await published(api, { key: 'good' })

    isClaiming = true
    const given = await claim()
    isClaiming = false

    expect(keysOf(given)).toEqual(['good'])
    expect(await api.task('jobs:bad')).toMatchObject({ status: 'ready', runs: [{ state: 'released' }] })
  })

  it.each([
    ['priority', ['high', 'early', 'late', 'low']],
    ['arrival', ['early', 'low', 'high', 'late']],
    ['aged', ['early', 'high', 'low', 'late']],
  ])('takes tasks in the ordering %s of their type', async (ordering, keys) => {
    await api.call('PUT', '/v1/types/jobs', { kind: 'http', ordering })
    const publications = [
      { key: 'early' },
      { key: 'low', priority: -1, after: 1_500 },
      { key: 'high', priority: 9, after: 8_000 },
      { key: 'late', after: 3_000 },
    ]
    for (const { after = 0, ...body } of publications) {
      await api.system.clock.advance(after)
      await published(api, body)
    }

    expect(keysOf(await claim({ limit: 1 }))).toEqual(keys.slice(0, 1))
    expect(keysOf(await claim())).toEqual(keys.slice(1))
  })

  it('takes up to its limit, in order, over all partitions', async () => {
    for (let n = 0; n < 60; n++) await published(api, { key: `${n}`, priority: -n })

    expect(keysOf(await claim({ limit: 25 }))).toEqual([...Array(25).keys()].map(String))
    expect(keysOf(await claim({ limit: 100 }))).toHaveLength(35)
  })

  it('of several types takes turns among the types', async () => {
    await api.call('PUT', '/v1/types/other', { kind: 'http' })
    for (const type of ['jobs', 'other'])
      for (const key of ['1', '2', '3']) await published(api, { type, key })

    const given = await claim({ type: undefined, types: ['jobs', 'other', 'jobs'], limit: 4 })

    expect(given.map(({ task }) => task.id).sort()).toEqual(['jobs:1', 'jobs:2', 'other:1', 'other:2'])
  })

  it('returns nothing for a paused type or when nothing is due, and is refused for types with a handler', async () => {
    await published(api, { delayMs: 1 })
    expect(await claim()).toEqual([])

    await published(api)
    const stored = await api.system.types.get('jobs')
    if (stored) await api.system.types.put({ ...stored, paused: true, version: 2 }, 1)
    expect(await claim()).toEqual([])

    const refused = await api.call('POST', '/v1/claims', { type: 'resize', workerId: 'w' })
    expect(refused.status).toBe(409)
    const unknown = await api.call('POST', '/v1/claims', { types: ['jobs', 'nobody'], workerId: 'w' })
    expect(unknown.status).toBe(404)
    expect(unknown.body.errors[0]).toMatchObject({
      path: 'types.1',
      message: expect.stringContaining('resize'),
    })
  })

  it('skips tasks that name other workers', async () => {
    for (let n = 0; n < 30; n++) await published(api, { key: `w2-${n}`, workerIds: ['w2'], priority: 1 })
    await published(api, { key: 'new', minWorkerVersion: '1.10' })
    await published(api, { key: 'any' })
    await plan()

    expect(keysOf(await claim({ workerVersion: '1.9.9' }))).toEqual(['any'])
    expect(keysOf(await claim({ workerVersion: '1.10.0' }))).toEqual(['new'])
    expect(await claim({ workerId: 'w2', limit: 100 })).toHaveLength(30)
  })

  it('takes tasks that name its worker at their position in the order', async () => {
    for (let n = 0; n < 9; n++) {
      await published(api, { key: `${n}`, priority: -n, ...(n % 3 === 1 && { workerIds: ['w1', 'w2'] }) })
    }
    await plan()

    expect(keysOf(await claim({ limit: 5 }))).toEqual(['0', '1', '2', '3', '4'])
    expect(keysOf(await claim({ workerId: 'w3' }))).toEqual(['5', '6', '8'])
    expect(keysOf(await claim({ workerId: 'w2' }))).toEqual(['7'])
  })

  it('gives a task for several workers to each of them once', async () => {
    await published(api, { key: 'a', concurrency: 2 })

    expect(await claim({ workerId: 'w1' })).toHaveLength(1)
    expect(await claim({ workerId: 'w1' })).toHaveLength(0)
    expect(await claim({ workerId: 'w2' })).toHaveLength(1)
    expect(await claim({ workerId: 'w3' })).toHaveLength(0)
    expect((await api.task('jobs:a')).runs).toHaveLength(2)
  })

  it('stops before its answer could become too large with every character escaped', async () => {
    for (let n = 0; n < 20; n++) await published(api, { key: `${n}`, input: 'x'.repeat(340_000) })

    expect(await claim({ limit: 100 })).toHaveLength(9)
    expect(await claim({ limit: 100 })).toHaveLength(9)
    expect(await claim({ limit: 100 })).toHaveLength(2)
  })

  it('of another type is not answered with the claims of the first, though it has the same request id', async () => {
    await api.call('PUT', '/v1/types/others', { kind: 'http' })
    await published(api, { key: 'a' })
    await published(api, { key: 'b', type: 'others' })

    const first = await claim({ requestId: 'r' })
    const other = await claim({ requestId: 'r', type: 'others' })

    expect([keysOf(first), keysOf(other)]).toEqual([['a'], ['b']])
    expect(keysOf(await claim({ requestId: 'r' }))).toEqual(['a'])
  })

  it('whose answer was lost gets the same answer again while its runs are live', async () => {
    for (const key of ['a', 'b', 'c']) await published(api, { key, input: 'x'.repeat(300) })
    const first = await claim({ requestId: 'r', limit: 2 })
    const again = await claim({ requestId: 'r', limit: 2 })
    expect(again).toEqual(first)
    expect(keysOf(await claim({ requestId: 'r', workerId: 'w2' }))).toEqual(['c'])

    await api.call('POST', `${pathOf('get', 'jobs:a')}/runs/${first[0]?.run.id}/succeed`, { fence: 1 })
    expect(keysOf(await claim({ requestId: 'r' }))).toEqual(['b'])
    await api.system.clock.advance(15 * SECOND)
    expect(keysOf(await claim({ requestId: 'r' }))).toEqual([])
    expect((await api.task('jobs:b')).attempts.used).toBe(1)
  })

  it('repeated while the first one still waits gets the same answer and claims nothing', async () => {
    const [first, again] = [
      claim({ requestId: 'r', waitMs: 20_000 }),
      claim({ requestId: 'r', waitMs: 20_000 }),
    ]
    await api.system.clock.advance(3 * SECOND)
    for (const key of ['a', 'b']) await published(api, { key })
    for (let second = 0; second < 2; second++) await api.system.clock.advance(SECOND)

    expect(keysOf(await first)).toHaveLength(2)
    expect(keysOf(await again).sort()).toEqual(keysOf(await first).sort())
    expect((await api.task('jobs:a')).attempts.used).toBe(1)
  })

  it('that found nothing or failed may be repeated at once', async () => {
    expect(await claim({ requestId: 'r' })).toEqual([])
    const { heads } = api.system.tasks
    Object.assign(api.system.tasks, { heads: () => Promise.reject(new Error('no')) })
    await published(api, { key: 'a' })
    const failed = await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w1', requestId: 'r' })
    Object.assign(api.system.tasks, { heads })

    expect(failed.status).toBe(500)
    expect(keysOf(await claim({ requestId: 'r' }))).toEqual(['a'])
  })

  it('whose first try died claims nothing until that try must be over', async () => {
    const { apply } = api.system.tasks
    let isDead = false
    const dying: typeof apply = change => (isDead ? apply(change) : new Promise(() => undefined))
    await published(api, { key: 'a' })
    Object.assign(api.system.tasks, { apply: dying })
    void claim({ requestId: 'r' })
    await api.system.clock.advance(SECOND)
    isDead = true

    const early = claim({ requestId: 'r' })
    for (let second = 0; second < 7; second++) await api.system.clock.advance(SECOND)
    const early2 = await Promise.race([early, 'waits'])
    for (let second = 0; second < 3; second++) await api.system.clock.advance(SECOND)

    expect(early2).toBe('waits')
    expect(keysOf(await early)).toEqual(['a'])
  })

  it('that waits is answered as soon as a task is due', async () => {
    const waiting = claim({ waitMs: 20_000 })
    await api.system.clock.advance(3 * SECOND)
    await published(api, { key: 'a' })
    await api.system.clock.advance(2 * SECOND)

    expect(keysOf(await waiting)).toEqual(['a'])
    expect(api.system.clock.sleepers()).toBe(0)
  })

  it('that waits in vain is answered when its time is over', async () => {
    let answered = false
    const waiting = claim({ waitMs: 1_000 }).then(claims => {
      answered = true
      return claims
    })
    await api.system.clock.advance(999)
    expect(answered).toBe(false)
    await api.system.clock.advance(1)

    expect(await waiting).toEqual([])
  })

  it('whose input has expired ends the task instead of handing it out', async () => {
    const store = aTaskStore()
    await api.renew({ tasks: { ...store, body: async () => undefined } })
    await published(api, { key: 'a', input: 'x'.repeat(300) })
    await api.system.clock.advance(15 * 60 * SECOND)

    expect(await claim()).toEqual([])
    expect(await api.task('jobs:a')).toMatchObject({ status: 'failed', error: { name: 'InputExpired' } })
  })

  it('whose input follows its head by a moment, as in a transaction, is given back unharmed', async () => {
    const store = aTaskStore()
    let isStored = false
    await api.renew({
      tasks: { ...store, body: async (id, ref) => (isStored ? store.body(id, ref) : undefined) },
    })
    await published(api, { key: 'a', input: 'x'.repeat(300) })

    expect(await claim()).toEqual([])
    expect(await api.task('jobs:a')).toMatchObject({ status: 'ready', attempts: { used: 0 } })
    isStored = true

    expect(keysOf(await claim())).toEqual(['a'])
  })

  it('by one worker alone stays in order, even when some tasks are past their deadline', async () => {
    for (let n = 0; n < 30; n++) await published(api, { key: `late${n}`, priority: 1, deadlineMs: 1_000 })
    for (let n = 0; n < 120; n++) await published(api, { key: `${n}`, priority: -n })
    await api.system.clock.advance(2 * SECOND)

    const answers = [await claim({ limit: 40 }), await claim({ limit: 40 })]

    const inOrder = [...Array(80).keys()].map(String)
    expect(answers.map(keysOf)).toEqual([inOrder.slice(0, 40), inOrder.slice(40)])
    expect((await api.task('jobs:late29')).status).toBe('failed')
  })

  it('by many workers at once gives each task to one worker, with few lost writes', async () => {
    const store = aTaskStore()
    let [writes, lost] = [0, 0]
    const apply: typeof store.apply = async change => {
      await new Promise(resolve => setImmediate(resolve))
      const applied = await store.apply(change)
      if (change.after.operation === 'claim') writes++
      if (!applied.applied) lost++
      return applied
    }
    await api.renew({ tasks: { ...store, apply } })
    for (let n = 0; n < 200; n++) await published(api, { key: `${n}` })

    const given = await Promise.all([...Array(20).keys()].map(n => claim({ workerId: `w${n}`, limit: 10 })))

    const keys = given.flatMap(keysOf)
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys.length).toBeGreaterThan(180)
    // If all 20 workers tried the same tasks first, each would lose most of 200 writes.
    expect(lost).toBeLessThan(writes)
  })

  it('by many workers at once passes over at most 500 open tasks', async () => {
    const store = aTaskStore()
    const open = new Set<number>()
    const passedOver: number[] = []
    const apply: typeof store.apply = async change => {
      await new Promise(resolve => setImmediate(resolve))
      const applied = await store.apply(change)
      const position = isOfTask(change) ? -change.after.priority : 0
      if (change.after.operation === 'claim' && applied.applied) {
        passedOver.push([...open].filter(other => other < position).length)
        open.delete(position)
      }
      return applied
    }
    await api.renew({ tasks: { ...store, apply } })
    for (let first = 0; first < 1_000; first += 100) {
      const tasks = Array.from({ length: 100 }, (_, n) => ({
        type: 'jobs',
        key: `${first + n}`,
        priority: -first - n,
      }))
      await api.call('POST', '/v1/tasks/batch', { tasks })
      for (const { priority } of tasks) open.add(-priority)
    }

    await Promise.all([...Array(20).keys()].map(n => claim({ workerId: `w${n}`, limit: 40 })))

    expect(passedOver.length).toBeGreaterThan(600)
    expect(Math.max(...passedOver)).toBeLessThanOrEqual(500)
  })
})
