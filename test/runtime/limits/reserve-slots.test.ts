import { expect, it } from 'vitest'
import { reserveFreeSlot } from '../../../shared/runtime/limits/reserve-slots.ts'
import { aMemorySystem } from '../../support/worlds/memory-system.ts'

const LIMITED = { name: 'resize', limit: { limit: 10, perMs: 1_000 } }

it('a caller that asks for a slot at the moment when all others were served is served, too', async () => {
  const system = aMemorySystem()
  const slots: unknown[] = []

  const asking = reserveFreeSlot(system, LIMITED).then(async slot => {
    slots.push(slot, await reserveFreeSlot(system, LIMITED))
  })
  await Promise.race([asking, system.clock.advance(1_000)])

  expect(slots).toHaveLength(2)
})
