import { describe, expect, it } from 'vitest'
import { anApiPerTest, claimed, published, reported } from '../../../support/http/an-api.ts'
import { NOW } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

describe('debounce', () => {
  const debounced = (input: string, more: object = {}) =>
    api.call('POST', '/v1/tasks', { type: 'jobs', key: 'k', input, debounce: { ms: 1_000, ...more } })

  it('the last publish of a key runs when no publish has followed for a while', async () => {
    const first = await debounced('one')
    await api.system.clock.advance(600)
    const second = await debounced('two')

    expect([first.status, second.status]).toEqual([201, 200])
    expect(await api.task('jobs:k')).toMatchObject({
      input: 'two',
      status: 'delayed',
      dueAt: new Date(NOW + 1_600).toISOString(),
    })
  })

  it('cannot delay a task forever', async () => {
    for (let nth = 0; nth < 10; nth++) {
      await debounced(`input ${nth}`, { maxWaitMs: 3_000 })
      await api.system.clock.advance(500)
    }

    expect(await api.task('jobs:k')).toMatchObject({
      input: 'input 9',
      status: 'ready',
      dueAt: new Date(NOW + 4_500).toISOString(),
    })
  })

  it('while a task runs, the next one waits under the next key and takes later publishes', async () => {
    await published(api, { key: 'k', input: 'one' })
    await claimed(api)

    const second = await debounced('two')
    const third = await debounced('three')

    expect([second.body.id, third.body.id]).toEqual(['jobs:k~1', 'jobs:k~1'])
    expect([second.status, third.status]).toEqual([201, 200])
    expect(await api.task('jobs:k~1')).toMatchObject({ input: 'three', status: 'delayed' })
    expect(await api.task('jobs:k')).toMatchObject({ input: 'one', status: 'running' })
  })

  it('a waiting successor takes the next publish, even after the task before it has ended or was removed', async () => {
    await published(api, { key: 'k', input: 'one', retentionMs: 10_000 })
    const { path, fence } = await claimed(api)
    const second = await debounced('two')
    await api.call('POST', `${path}/succeed`, { fence })

    await api.system.clock.advance(300)
    const third = await debounced('three')
    const alone = await api.task('jobs:k')

    expect([second.body.id, third.body.id]).toEqual(['jobs:k~1', 'jobs:k~1'])
    expect(await api.task('jobs:k~1')).toMatchObject({
      input: 'three',
      status: 'delayed',
      parentId: 'jobs:k',
    })
    expect(alone).toMatchObject({ input: 'one', status: 'succeeded' })
    await api.system.clock.advance(11_000)
    expect((await debounced('four')).body.id).toBe('jobs:k~1')
  })

  it('a task that was published under the key of a successor does not change', async () => {
    await published(api, { key: 'k', input: 'one' })
    await claimed(api)
    await published(api, { key: 'k~1', input: 'mine', delayMs: 60_000 })

    const second = await debounced('two')
    const third = await debounced('three')

    expect([second.body.id, third.body.id]).toEqual(['jobs:k~2', 'jobs:k~2'])
    expect(await api.task('jobs:k~1')).toMatchObject({ input: 'mine' })
  })

  it('a task that has ended starts over', async () => {
    await published(api, { key: 'k', input: 'one' })
    await reported(api, 'succeed')

    const again = await debounced('two')

    expect(again.status).toBe(201)
    expect(await api.task('jobs:k')).toMatchObject({ input: 'two', status: 'delayed', runs: [] })
  })
})

describe('throttle', () => {
  const throttled = (input: string) =>
    api.call('POST', '/v1/tasks', { type: 'jobs', key: 'k', input, throttle: { perMs: 10_000 } })
  const ended = () => reported(api, 'succeed')

  it('the first publish of a window counts, however its task ends', async () => {
    const statuses = [(await throttled('one')).status]
    await ended()
    await api.system.clock.advance(9_999)
    statuses.push((await throttled('two')).status)

    expect(statuses).toEqual([201, 200])
    expect(await api.task('jobs:k')).toMatchObject({ input: 'one', status: 'succeeded' })
  })

  it('after the window the next task starts, unless the previous one still runs', async () => {
    await throttled('one')
    await api.system.clock.advance(10_000)
    const late = await throttled('two')
    await ended()
    const next = await throttled('three')

    expect([late.status, next.status]).toEqual([200, 201])
    expect(await api.task('jobs:k')).toMatchObject({ input: 'three', status: 'ready' })
  })

  it('a throttled task is kept as long as its window', async () => {
    const { body } = await api.call('POST', '/v1/tasks', {
      type: 'jobs',
      key: 'k',
      retentionMs: 0,
      throttle: { perMs: 60_000 },
    })

    expect(body.task.options.retentionMs).toBe(60_000)
  })
})
