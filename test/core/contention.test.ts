import { expect, it } from 'vitest'
import { conflictWaitMs, isLostRace } from '../../shared/core/contention.ts'
import { aRun, aTask, NOW, SECOND } from '../support/a-task.ts'

const LAST = 0.999
const waits = (concurrency: number, writeMs = 10) =>
  [1, 2, 3, 4].map(count => conflictWaitMs(aTask({ options: { concurrency } }), { count, writeMs }, LAST))

it('a lost race for a task of one slot is tried again at once, then after a few milliseconds', () => {
  expect(waits(1)[0]).toBe(0)
  expect(waits(1).every(ms => ms <= 50)).toBe(true)
})

it('windows grow with each race, up to the time that all possible rivals need', () => {
  const [first = 0, second = 0, third = 0, fourth = 0] = waits(100)

  expect(first).toBe(80)
  expect(second).toBe(640)
  expect(third).toBe(2_018)
  expect(fourth).toBeGreaterThan(third)
  expect(fourth).toBeLessThan(2 * third)
})

it('a slow write does not prolong windows without bound', () => {
  expect(waits(100, 9_000)).toEqual(waits(100, 25))
})

it('waits are spread over the window by chance', () => {
  const task = aTask({ options: { concurrency: 100 } })
  const at = (chance: number) => conflictWaitMs(task, { count: 3, writeMs: 10 }, chance)

  expect([at(0), at(0.5), at(1)]).toEqual([0, 1_010, 2_020])
})

it('taken slots no longer count as rivals once they have succeeded', () => {
  const task = aTask({ options: { concurrency: 100 }, live: [aRun()], ended: [] })
  const ended = aTask({ state: 'succeeded' })

  expect(conflictWaitMs(ended, { count: 1, writeMs: 10 }, LAST)).toBe(0)
  expect(conflictWaitMs(task, { count: 0, writeMs: 10 }, LAST)).toBe(0)
})

it('a write that was decided on an old sight of the task has lost no race', () => {
  const current = aTask({ updatedAt: NOW })
  const refused = (sentAt: number) => isLostRace({ current, sentAt, answeredAt: sentAt + 10 })

  expect(refused(NOW + 5)).toBe(true)
  expect(refused(NOW + SECOND)).toBe(false)
})
