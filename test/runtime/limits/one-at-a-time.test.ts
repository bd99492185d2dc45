import { expect, it } from 'vitest'
import { systemClock } from '../../../shared/aws/environment.ts'
import { oneAtATime } from '../../../shared/runtime/limits/line.ts'
import { aMemorySystem } from '../../support/worlds/memory-system.ts'

it('callers that ask together continue one at a time, timers fire between two of them, and a start goes ahead of a task that only records that it waits', async () => {
  const system = { ...aMemorySystem(), clock: systemClock }
  const done: string[] = []
  const work = async (place: 'starts' | 'waits') => {
    await oneAtATime(system, place)
    for (const end = performance.now() + 2; performance.now() < end; );
    done.push(place)
  }
  const begun = [
    ...Array.from({ length: 40 }, () => work('waits')),
    ...Array.from({ length: 40 }, () => work('starts')),
  ]
  const doneBetweenTimers: number[] = []
  for (let before = 0; before < 80; before = done.length) {
    await systemClock.sleep(1)
    doneBetweenTimers.push(done.length - before)
  }
  await Promise.all(begun)

  expect(Math.max(...doneBetweenTimers)).toBeLessThanOrEqual(4)
  expect(done.slice(1, 40)).toEqual(Array(39).fill('starts'))
  expect(done.length).toBe(80)
})
