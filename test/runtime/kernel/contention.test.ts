import { expect, it } from 'vitest'
import { isLostRace, refusedWriterWaitMs } from '../../../shared/runtime/kernel/kernel.ts'
import { aRun, aTask, NOW, SECOND } from '../../support/tasks/a-task.ts'

const LAST = 0.999
const operation = 'claim' as const
const waits = (concurrency: number, writeMs = 10) =>
  [1, 2, 3, 4, 5].map(count =>
    refusedWriterWaitMs(aTask({ options: { concurrency } }), { count, writeMs, operation }, LAST),
  )

it('after a lost race for a task that wants one worker, the writer tries at once, then after the time of a few writes', () => {
  expect(waits(1)[0]).toBe(0)
  expect(waits(1).every(ms => ms <= 8 * 10)).toBe(true)
})

it('the window grows with each lost race, up to the time that all possible rivals need', () => {
  const [first, second, third, fourth = 0, fifth = 0] = waits(100)

  expect([first, second, third]).toEqual([40, 240, 1_439])
  expect(fourth).toBe(Math.ceil(101 * 10 * 3.25 * LAST))
  expect(fifth).toBeGreaterThan(fourth)
  expect(fifth).toBeLessThan(2 * fourth)
})

it('a slow write prolongs the window only up to a bound', () => {
  expect(waits(100, 9_000)).toEqual(waits(100, 25))
})

it('the waits are spread at random over the window', () => {
  const task = aTask({ options: { concurrency: 100 } })
  const at = (chance: number) => refusedWriterWaitMs(task, { count: 3, writeMs: 10, operation }, chance)

  expect([at(0), at(0.5), at(1)]).toEqual([0, 720, 1_440])
})

it('a claim counts as rivals only workers that may still claim, so the last workers claim fast', () => {
  const live = Array.from({ length: 98 }, (_, nth) => aRun({ fence: nth + 1, workerId: `w${nth}` }))
  const task = aTask({ options: { concurrency: 100 }, live })
  const waitOf = (writes: 'claim' | 'fail') =>
    refusedWriterWaitMs(task, { count: 3, writeMs: 10, operation: writes }, LAST)

  expect(waitOf('claim')).toBeLessThanOrEqual(3 * 10 * 2.5)
  expect(waitOf('fail')).toBeGreaterThan(1_000)
})

it('a writer does not wait when the task has ended, or when it lost no race', () => {
  const task = aTask({ options: { concurrency: 100 }, live: [aRun()], ended: [] })
  const ended = aTask({ state: 'succeeded' })

  expect(refusedWriterWaitMs(ended, { count: 1, writeMs: 10, operation }, LAST)).toBe(0)
  expect(refusedWriterWaitMs(task, { count: 0, writeMs: 10, operation }, LAST)).toBe(0)
})

it('a write that was decided on an outdated copy of the task has lost no race', () => {
  const current = aTask({ updatedAt: NOW })
  const refused = (sentAt: number) => isLostRace({ current, sentAt, answeredAt: sentAt + 10 })

  expect(refused(NOW + 5)).toBe(true)
  expect(refused(NOW + SECOND)).toBe(false)
})
