import { describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import { acquirePermits, releasePermits } from '../../../shared/runtime/limits/permits.ts'
import { serveLimitLook } from '../../../shared/runtime/limits/serve-limit-looks.ts'
import { NOW, SECOND } from '../../support/tasks/a-task.ts'
import { aSystemWith, blocked, limited, storedAll, waitingKeys } from '../../support/worlds/limited-system.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'

describe('the looks of a limit', () => {
  it('are one series, however many claims find the limit used up at once', async () => {
    const system = await aSystemWith(1)
    const tasks = await storedAll(system, 50)

    const outcomes = await Promise.all(tasks.map(task => acquirePermits(system, task, [limited(1)])))

    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1)
    expect(system.messages.limitLooks).toHaveLength(1)
  })

  it('stay one series when SQS delivers a message twice', async () => {
    const system = await aSystemWith(1)
    await blocked(system, await storedAll(system, 3))
    await system.limits.acquire('resize', { holder: 'h', taskId: 'resize:h', since: NOW + 15 * SECOND }, 1)
    await system.limits.renewWaiting('resize', NOW, undefined)
    const look = { limit: 'resize', emptyLooksInRow: 0, since: NOW, delaySeconds: 15 }
    await system.clock.advance(15 * SECOND)

    await serveLimitLook(system, look)
    await serveLimitLook(system, look)

    expect(system.messages.limitLooks).toHaveLength(1)
  })

  it('go on while a task waits, although the limit is not used up', async () => {
    const system = await aSystemWith(2)
    const tasks = await storedAll(system, 3)
    await blocked(system, tasks)
    await system.limits.renewWaiting('resize', NOW, undefined)
    await system.clock.advance(15 * SECOND)

    await serveLimitLook(system, { limit: 'resize', emptyLooksInRow: 0, since: NOW, delaySeconds: 0 })

    const since = NOW + 15 * SECOND
    expect(await system.limits.permits('resize', [0])).toEqual({ holders: [], waitNotedAt: since })
    expect(system.messages.limitLooks).toMatchObject([{ emptyLooksInRow: 0, since }])
  })

  it('find a task whose claim read the note just before it was removed', async () => {
    const system = await aSystemWith(1)
    const [task] = (await storedAll(system, 1)) as [Task]
    await system.limits.renewWaiting('resize', NOW, undefined)
    await serveLimitLook(system, { limit: 'resize', emptyLooksInRow: 1, since: NOW, delaySeconds: 0 })
    const [last] = system.messages.limitLooks.splice(0)
    await blocked(system, [task])
    await system.clock.advance(15 * SECOND)

    if (last) await serveLimitLook(system, last)

    expect(await waitingKeys(system, [task])).toEqual([])
    expect(system.messages.limitLooks).toMatchObject([{ emptyLooksInRow: 0, since: NOW + 15 * SECOND }])
  })

  it('end with the last look when it finds no waiting task', async () => {
    const system = await aSystemWith(1)

    await serveLimitLook(system, { limit: 'resize', emptyLooksInRow: 1, delaySeconds: 0 })

    expect(system.messages.limitLooks).toEqual([])
  })

  it('are not needed when a permit was released before a waiting task was noted', async () => {
    const system = await aSystemWith(1)
    const [first, second] = (await storedAll(system, 2)) as [Task, Task]
    const held = await acquirePermits(system, first, [limited(1)])
    const racing: MemorySystem = {
      ...system,
      limits: {
        ...system.limits,
        noteWaiting: async (...args) => {
          if (held.ok) await releasePermits(system, held.permits)
          return system.limits.noteWaiting(...args)
        },
      },
    }

    const outcome = await acquirePermits(racing, second, [limited(1)])

    expect(outcome.ok).toBe(true)
    expect(system.messages.limitLooks).toEqual([])
  })

  it('find their note again when the next one could not be sent', async () => {
    const system = await aSystemWith(1)
    await blocked(system, await storedAll(system, 2))
    await system.limits.renewWaiting('resize', NOW, undefined)
    const look = { limit: 'resize', emptyLooksInRow: 0, since: NOW, delaySeconds: 0 }
    const failing: MemorySystem = {
      ...system,
      messages: {
        ...system.messages,
        lookAtLimits: async () => [{ index: 0, reason: 'no answer', transient: true }],
      },
    }
    await system.clock.advance(SECOND)

    await expect(serveLimitLook(failing, look)).rejects.toThrow('no answer')
    await serveLimitLook(system, look)

    expect(system.messages.limitLooks).toHaveLength(1)
  })
})
