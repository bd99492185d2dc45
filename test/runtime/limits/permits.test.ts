import { describe, expect, it } from 'vitest'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { noteLine } from '../../../shared/runtime/limits/line.ts'
import { acquirePermits, confirmPermits } from '../../../shared/runtime/limits/permits.ts'
import { changeOf, NOW, SECOND } from '../../support/tasks/a-task.ts'
import {
  aSystemWith,
  limited,
  lookInSeries,
  PERMITS,
  storedAll,
} from '../../support/worlds/limited-system.ts'
import { beforeWrites, type MemorySystem, stored } from '../../support/worlds/memory-system.ts'

const lookAt = async (system: MemorySystem) => {
  await noteLine(system, PERMITS)
  await lookInSeries(system)
}

describe('a permit that was taken long before the claim was written', () => {
  const taken = async (system: MemorySystem, task: Task) => {
    const acquired = await acquirePermits(system, task, [limited(1)])
    if (!acquired.ok) throw new Error('used up')
    return acquired
  }
  it('is lost to its run when a look removed it as stale', async () => {
    const system = await aSystemWith(1)
    const { permits, since } = await taken(system, await stored(system))
    await system.clock.advance(11 * SECOND)
    await lookAt(system)

    expect(await confirmPermits(system, permits, since)).toBe(false)
  })

  it('is not removed by a look that found it stale just before it was confirmed', async () => {
    const system = await aSystemWith(1)
    const { permits, since } = await taken(system, await stored(system))
    await system.clock.advance(11 * SECOND)
    const slow: MemorySystem = {
      ...system,
      tasks: {
        ...system.tasks,
        head: async id => {
          const head = await readTask(system, id)
          expect(await confirmPermits(system, permits, since)).toBe(true)
          return head
        },
      },
    }
    await lookAt(slow)

    expect((await system.limits.permits('resize', [0])).holders).toHaveLength(1)
  })

  it('needs no confirmation when the claim was quick', async () => {
    const system = await aSystemWith(1)
    const { permits, since } = await taken(system, await stored(system))
    const { renew: _keep, ...limits } = system.limits
    await system.clock.advance(4 * SECOND)

    expect(await confirmPermits({ ...system, limits: limits as typeof system.limits }, permits, since)).toBe(
      true,
    )
  })
})

describe('a permit of a run of the same task', () => {
  const refusal = async (system: MemorySystem, task: Task) => {
    const outcome = await claimTask(system, task, { workerId: 'w2' })
    return 'refused' in outcome ? outcome.refused : undefined
  }

  it('does not change the task while that run is about to begin', async () => {
    const system = await aSystemWith(1)
    const task = await stored(system)
    await acquirePermits(system, task, [limited(1)])

    expect(await refusal(system, task)).toBe('being-claimed')
    expect((await readTask(system, task.id))?.wait).toBeUndefined()
  })

  it('makes the task wait when that run has ended and has not released it yet', async () => {
    const system = await aSystemWith(1)
    const claimed = await claimTask(system, await stored(system), { workerId: 'w1' })
    if ('refused' in claimed) throw new Error(claimed.refused)
    await system.clock.advance(SECOND)
    const { task, run } = claimed
    const ended = finish(task, { born: task.born, fence: run.fence, outcome: 'release' }, NOW + SECOND, 0)
    await system.tasks.apply(changeOf(ended))
    const open = (await readTask(system, task.id)) as Task

    expect(await refusal(system, open)).toBe('concurrency-limit')
    expect((await readTask(system, task.id))?.wait).toMatchObject({ kind: 'permit' })
    expect(system.messages.limitLooks).toHaveLength(1)
  })

  it('delays other claims for at most ten seconds when that run never begins', async () => {
    const system = await aSystemWith(1)
    const task = await stored(system)
    await acquirePermits(system, task, [limited(1)])
    await system.clock.advance(10 * SECOND)

    expect(await refusal(system, task)).toBe('concurrency-limit')
  })
})

describe('a claim that takes long', () => {
  it('releases its run when another run has got its permit meanwhile', async () => {
    const system = await aSystemWith(1)
    const [first, second] = (await storedAll(system, 2)) as [Task, Task]
    const frozen = beforeWrites(system, async ({ operation }) => {
      if (operation !== 'claim') return
      await system.clock.advance(11 * SECOND)
      await lookAt(system)
      await claimTask(system, second, { workerId: 'w2' })
    })

    const outcome = await claimTask(frozen, first, { workerId: 'w1' })

    expect(outcome).toMatchObject({ refused: 'concurrency-limit' })
    expect((await readTask(system, first.id))?.live).toEqual({})
    expect((await system.limits.permits('resize', [0])).holders).toMatchObject([{ taskId: second.id }])
  })
})

describe('HTTP workers that ask again while a long run holds the only permit', () => {
  it('leave the looks at the line as they are', async () => {
    const system = await aSystemWith(1, { kind: 'http' })
    const [first, second] = (await storedAll(system, 2, { kind: 'http' })) as [Task, Task]
    await claimTask(system, first, { workerId: 'w1' }, { slotUse: { kind: 'only-free-slot' } })
    await system.clock.advance(11 * SECOND)
    const ask = () => claimTask(system, second, { workerId: 'w1' }, { slotUse: { kind: 'only-free-slot' } })

    await ask()
    // A look finds that no task waits in the line, since its tasks are in the ready place. It opens the line.
    await lookInSeries(system)
    const { version } = await system.limits.line(PERMITS)
    await ask()

    expect(await system.limits.line(PERMITS)).toMatchObject({ version, note: { isClosed: false } })
  })
})
