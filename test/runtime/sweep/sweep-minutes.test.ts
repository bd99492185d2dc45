import { describe, expect, it } from 'vitest'
import { cancelTask, removeTask } from '../../../shared/runtime/operate/operate.ts'
import { patchTask } from '../../../shared/runtime/operate/patch-task.ts'
import { type CheckedMinutes, sweepMinutes } from '../../../shared/runtime/sweep/sweep.ts'
import { wakeMinute, wakeMinuteShard } from '../../../shared/runtime/wake.ts'
import { DAY, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, stored } from '../../support/worlds/memory-system.ts'

const BEGINS = NOW + 30 * MINUTE
const FAR = BEGINS / MINUTE

/** A system with tasks that are due in a far minute. That minute begins in `ms`. */
async function aMinuteIn(ms: number, tasks = 3): Promise<MemorySystem> {
  const system = aMemorySystem()
  for (let nth = 0; nth < tasks; nth++)
    await stored(system, { key: `k${nth}`, dueAt: BEGINS + nth * 10 * SECOND })
  await system.clock.advance(BEGINS - ms - NOW)
  return system
}

/** Serves the messages of the minute, and returns the tasks that they dispatch. */
async function dispatchedBy(system: MemorySystem): Promise<string[]> {
  for (const look of system.messages.minuteLooks.splice(0))
    await wakeMinuteShard(system, look, Number.POSITIVE_INFINITY)
  return system.messages.dispatches.map(({ task }) => task.key).sort()
}

/** How often the store and the records are read. */
function counting(system: MemorySystem) {
  const asked = { pages: 0, records: 0 }
  return {
    asked,
    system: {
      ...system,
      tasks: {
        ...system.tasks,
        page: (query: Parameters<MemorySystem['tasks']['page']>[0]) => {
          asked.pages += 1
          return system.tasks.page(query)
        },
      },
      records: {
        ...system.records,
        get: (name: string) => {
          asked.records += 1
          return system.records.get(name)
        },
      },
    },
  }
}

describe('a far minute whose EventBridge schedule was lost', () => {
  it('is woken by the sweeper shortly before it begins, and counted', async () => {
    const system = await aMinuteIn(50 * SECOND)

    const report = await sweepMinutes(system, new Set())

    expect(report).toEqual({ examined: 0, repaired: 1, failed: 0 })
    expect(await dispatchedBy(system)).toEqual(['k0', 'k1', 'k2'])
    expect(system.messages.dispatches.map(({ delaySeconds }) => delaySeconds).sort()).toEqual([50, 60, 70])
    expect(system.counted('SweeperRepaired')).toBe(1)
  })

  it.each([0, MINUTE, 2 * MINUTE])(
    'is woken after it began, too, when rounds were lost: %d ms',
    async late => {
      const system = await aMinuteIn(-late)

      expect(await sweepMinutes(system, new Set())).toEqual({ examined: 0, repaired: 1, failed: 0 })
    },
  )

  it('does not count as lost while its EventBridge schedule may still fire', async () => {
    const system = await aMinuteIn(60 * SECOND)

    expect(await sweepMinutes(system, new Set())).toEqual({ examined: 0, repaired: 0, failed: 0 })
    expect(system.messages.minuteLooks).toEqual([])
  })

  it('is woken once, by whichever process looks first', async () => {
    const system = await aMinuteIn(50 * SECOND)

    await sweepMinutes(system, new Set())
    const again = await sweepMinutes(system, new Set())

    expect(again.repaired).toBe(0)
    expect(system.messages.minuteLooks).toHaveLength(8)
  })

  it('is tried again in the next round when it could not be woken', async () => {
    const system = await aMinuteIn(50 * SECOND)
    const seen: CheckedMinutes = new Set()
    const lookAtMinute = () => Promise.reject(new Error('no answer'))

    const failed = await sweepMinutes({ ...system, messages: { ...system.messages, lookAtMinute } }, seen)
    const repaired = await sweepMinutes(system, seen)

    expect([failed, repaired]).toEqual([
      { examined: 0, repaired: 0, failed: 1 },
      { examined: 0, repaired: 1, failed: 0 },
    ])
  })
})

describe('a far minute that needs no repair', () => {
  it('has been woken by its EventBridge schedule', async () => {
    const system = await aMinuteIn(90 * SECOND)
    await wakeMinute(system, FAR)
    await system.clock.advance(40 * SECOND)

    expect((await sweepMinutes(system, new Set())).repaired).toBe(0)
  })

  it('is left empty by tasks that were cancelled, removed or moved to another time', async () => {
    const system = await aMinuteIn(20 * MINUTE)
    await cancelTask(system, 'resize:k0')
    await removeTask(system, 'resize:k1')
    await patchTask(system, 'resize:k2', { dueAt: BEGINS + DAY })
    await system.clock.advance(19.5 * MINUTE)

    const report = await sweepMinutes(system, new Set())
    await wakeMinute(system, FAR)

    expect(report.repaired).toBe(0)
    expect(await dispatchedBy(system)).toEqual([])
  })

  it('costs an idle system one record and eight pages a round, in a process that goes on', async () => {
    const { system, asked } = counting(aMemorySystem())
    const seen: CheckedMinutes = new Set()
    await sweepMinutes(system, seen)
    const first = { ...asked }
    await system.clock.advance(60 * MINUTE)
    await sweepMinutes(system, seen)
    const cold = { ...asked }

    for (let round = 0; round < 10; round++) {
      await system.clock.advance(MINUTE)
      await sweepMinutes(system, seen)
    }

    expect(first).toEqual({ records: 4, pages: 32 })
    expect(cold).toEqual({ records: 8, pages: 64 })
    expect(asked).toEqual({ records: 8 + 10, pages: 64 + 80 })
    expect(seen.size).toBe(4)
  })
})
