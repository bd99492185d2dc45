import { expect, it } from 'vitest'
import { sleepUntil } from '../../shared/runtime/sleep-until.ts'

it('never ends early, though timers fire a millisecond before their time', async () => {
  let now = 1_000
  const hasty = {
    now: () => now,
    sleep: async (ms: number) => {
      now += Math.max(0.4, ms - 1)
    },
  }

  await sleepUntil(hasty, 1_500)

  expect(now).toBeGreaterThanOrEqual(1_500)
})
