import { expect, it } from 'vitest'
import { sleepUntil } from '../../../shared/runtime/kernel/system.ts'
import { createManualClock } from '../../support/ports/clock.ts'

it('the wait never ends early, although timers fire a millisecond before their time', async () => {
  let now = 1_000
  const hasty = {
    now: () => now,
    monotonic: () => now - 1_000,
    sleep: async (ms: number) => {
      now += Math.max(0.4, ms - 1)
    },
  }

  await sleepUntil(hasty, 1_500)

  expect(now).toBeGreaterThanOrEqual(1_500)
})

it('the wait is not longer when the clock is set back meanwhile', async () => {
  const clock = createManualClock(1_000)
  let isOver = false
  const waiting = sleepUntil(clock, 3_000).then(() => {
    isOver = true
  })

  await clock.advance(500)
  clock.step(-3_600_000)
  await clock.advance(1_400)
  expect(isOver).toBe(false)
  await clock.advance(200)

  expect(isOver).toBe(true)
  await waiting
})
