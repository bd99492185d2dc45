import { expect, it } from 'vitest'
import { giveBackSlot, reserveSlot } from '../../../shared/runtime/limits/reserve-slots.ts'
import { aMemorySystem } from '../../support/worlds/memory-system.ts'

const LIMITED = { name: 'resize', limit: { limit: 10, perMs: 1_000 } }
const NOW_ONLY = { waitMs: 0 }

it('a caller that asks for a slot at the moment when all others were served is served, too', async () => {
  const system = aMemorySystem()
  const slots: unknown[] = []

  const asking = reserveSlot(system, LIMITED, NOW_ONLY).then(async slot => {
    slots.push(slot, await reserveSlot(system, LIMITED, NOW_ONLY))
  })
  await Promise.race([asking, system.clock.advance(1_000)])

  expect(slots).toHaveLength(2)
})

it('callers that ask and give back at one moment share two writes of the log', async () => {
  const system = aMemorySystem()
  const limited = { name: 'resize', limit: { limit: 1, perMs: 1_000 } }
  let writes = 0
  const counting = {
    ...system,
    limits: {
      ...system.limits,
      putSlots: async (...log: Parameters<typeof system.limits.putSlots>) => {
        writes += 1
        return system.limits.putSlots(...log)
      },
    },
  }
  const first = await reserveSlot(counting, limited, NOW_ONLY)
  if (!('at' in first)) throw new Error('no slot')

  const [, second, third] = await Promise.all([
    giveBackSlot(counting, limited, first),
    reserveSlot(counting, limited, NOW_ONLY),
    reserveSlot(counting, limited, NOW_ONLY),
  ])

  expect(writes).toBeLessThanOrEqual(3)
  expect(second).toHaveProperty('at')
  expect(third).toHaveProperty('notBefore')
})
