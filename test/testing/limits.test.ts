import { expect, it } from 'vitest'
import { defineTask } from '../../shared/define/define-task.ts'
import { createTestSystem } from '../../shared/testing/index.ts'

it('a rate limit of 50 a second lets 150 tasks start within three seconds, and no second has more', async () => {
  const starts: number[] = []
  const call = defineTask('call', {
    limits: { rate: { limit: 50, perMs: 1_000 } },
    run: () => void starts.push(t.now().getTime()),
  })
  const t = await createTestSystem({ tasks: [call] })
  const since = t.now().getTime()

  await Promise.all(Array.from({ length: 150 }, (_, nth) => t.publish(call, { nth })))
  await t.runUntilIdle()

  const perSecond = [0, 1, 2].map(
    second => starts.filter(at => Math.floor((at - since) / 1_000) === second).length,
  )
  expect(perSecond).toEqual([50, 50, 50])
})

it('a concurrency limit lets only so many run at a time', async () => {
  const work = defineTask('work', { limits: { concurrency: { max: 2 } }, run: () => {} })
  const t = await createTestSystem({ tasks: [work] })
  t.takes(work, '10s')
  for (const key of ['a', 'b', 'c', 'd', 'e']) await t.publish(work, {}, { key })

  await t.advance('1s')
  const early = t.limits(work)
  await t.runUntilIdle()

  expect(early).toMatchObject({ concurrency: { max: 2 }, running: ['work:a', 'work:b'] })
  expect(early.waiting).toEqual(
    ['c', 'd', 'e'].map(key => ({ id: `work:${key}`, reason: 'concurrency-limit' })),
  )
  expect(t.counts(work).succeeded).toBe(5)
  expect(t.now().getTime()).toBe(Date.parse('2027-01-01T00:00:30.000Z'))
})

it('a paused type starts nothing until its pause ends', async () => {
  const work = defineTask('work', { run: () => {} })
  const t = await createTestSystem({ tasks: [work] })
  await t.pause(work)
  await t.publish(work, {}, { key: 'a' })

  await t.runUntilIdle()
  const waiting = t.task('work:a')
  await t.resume(work)
  await t.runUntilIdle()

  expect(waiting).toMatchObject({ status: 'ready', statusReason: 'paused' })
  expect(t.task('work:a').status).toBe('succeeded')
  await expect(t.pause('wrok')).rejects.toThrow("did you mean 'work'")
})

it('a publish says that the task lacks the key of a limit', async () => {
  const work = defineTask('work', {
    limits: { rate: { limit: 9, perMs: 1_000, key: 'userId' } },
    run: () => {},
  })
  const t = await createTestSystem({ tasks: [work] })

  expect((await t.publish(work, {}, { key: 'a' })).notes).toEqual([
    expect.stringContaining('counts by userId'),
  ])
  expect((await t.publish(work, {}, { key: 'b', userId: 'u' })).notes).toBeUndefined()
})
