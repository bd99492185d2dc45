import { describe, expect, it } from 'vitest'
import type { TypeLimits } from '../../../shared/core/types/task-type.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { claimReady } from '../../../shared/runtime/claim/claim-ready.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { SECOND } from '../../support/tasks/a-task.ts'
import { aMemorySystem, beforeWrites, registered, stored, timed } from '../../support/worlds/memory-system.ts'

const LIMITS = { rate: { limit: 50, perMs: 100 * SECOND }, concurrency: { max: 50 } }
const LIMIT_CASES = [
  ['without limits', {}],
  ['under limits', LIMITS],
] as const

/** A claimer whose version is read once by each judgement of a claim. */
function aCountingClaimer() {
  let judgements = 0
  const claimer = {
    workerId: 'w1',
    get version() {
      judgements += 1
      return '1'
    },
  }
  return { claimer, judgements: () => judgements }
}

/** A system with a type, in which each write takes time. */
async function aSlowSystem(limits: TypeLimits) {
  const memory = aMemorySystem()
  const configuration = { kind: 'http', defaults: {}, shards: 1, limits } as const
  const type = await registered(memory, { configuration })
  const slow: System = {
    ...beforeWrites(memory, () => memory.clock.sleep(7)),
    limits: {
      ...memory.limits,
      acquire: async (...permit) => {
        await memory.clock.sleep(7)
        return memory.limits.acquire(...permit)
      },
    },
  }
  return { memory, type, slow }
}

describe('a claim', () => {
  it.each(LIMIT_CASES)('of a given task %s is judged once', async (_case, limits: TypeLimits) => {
    const { memory, slow } = await aSlowSystem(limits)
    const { claimer, judgements } = aCountingClaimer()
    const seen = await stored(memory, { kind: 'http' })

    const claimed = await timed(memory, claimTask(slow, seen, claimer))

    expect(claimed).toMatchObject({ run: { workerId: 'w1' } })
    expect(judgements()).toBe(1)
  })

  it.each(LIMIT_CASES)('of ready tasks %s is judged once per task', async (_case, limits: TypeLimits) => {
    const { memory, type, slow } = await aSlowSystem(limits)
    const { claimer, judgements } = aCountingClaimer()
    for (let nth = 0; nth < 20; nth++) await stored(memory, { key: `k${nth}`, kind: 'http' })

    const { claimed } = await timed(memory, claimReady(slow, [type], claimer, { wanted: 20 }))

    expect(claimed).toHaveLength(20)
    expect(judgements()).toBe(20)
  })

  it('is judged again after a lost race, on the head that won it', async () => {
    const { memory, slow } = await aSlowSystem({})
    const { claimer, judgements } = aCountingClaimer()
    const seen = await stored(memory, { kind: 'http', options: { concurrency: 2 } })
    await claimTask(memory, seen, { workerId: 'w2' })

    const claimed = await timed(memory, claimTask(slow, seen, claimer))

    expect(claimed).toMatchObject({ run: { workerId: 'w1', fence: 2 } })
    expect(judgements()).toBe(2)
  })
})
