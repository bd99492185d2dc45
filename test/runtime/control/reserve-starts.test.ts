import { expect, it } from 'vitest'
import type { Turn } from '../../../shared/core/control/starts.ts'
import { reserveStart } from '../../../shared/runtime/control/reserve-starts.ts'
import { aMemorySystem } from '../../support/memory-system.ts'

const LIMITED = { name: 'resize', limit: { limit: 10, perMs: 1_000 } }

it('who asks at the very moment when all others were served is served, too', async () => {
  const system = aMemorySystem()
  const turns: Array<Turn | undefined> = []

  const asking = reserveStart(system, LIMITED, true).then(async turn => {
    turns.push(turn, await reserveStart(system, LIMITED, true))
  })
  await Promise.race([asking, system.clock.advance(1_000)])

  expect(turns).toHaveLength(2)
})
