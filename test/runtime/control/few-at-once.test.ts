import { expect, it } from 'vitest'
import { systemClock } from '../../../shared/aws/machine.ts'
import { oneAtATime } from '../../../shared/runtime/control/one-at-a-time.ts'
import { aMemorySystem } from '../../support/memory-system.ts'

it('what begins together lets timers fire in between, and who starts overtakes who waits', async () => {
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
  let isOver = false
  let longest = 0
  for (let last = performance.now(); !isOver; last = performance.now()) {
    await Promise.race([systemClock.sleep(1), Promise.all(begun).then(() => (isOver = true))])
    longest = Math.max(longest, performance.now() - last)
  }

  expect(longest).toBeLessThan(80)
  expect(done.slice(8, 40)).toEqual(Array(32).fill('starts'))
  expect(done.length).toBe(80)
})
