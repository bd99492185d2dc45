import { describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { sweepLines } from '../../../shared/runtime/limits/begin-looks.ts'
import { noteLine } from '../../../shared/runtime/limits/line.ts'
import { releasePermits } from '../../../shared/runtime/limits/permits.ts'
import { serveLimitLook } from '../../../shared/runtime/limits/serve-limit-looks.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import {
  aSystemWith,
  blocked,
  dispatchedKeys,
  lookInSeries,
  PERMITS,
  storedAll,
} from '../../support/worlds/limited-system.ts'
import { type MemorySystem, timed } from '../../support/worlds/memory-system.ts'

const claim = (system: MemorySystem, task: Task) => timed(system, claimTask(system, task, { workerId: 'w1' }))

describe('the looks at a line', () => {
  it('are one series, however many claims find the limit used up at once', async () => {
    const system = await aSystemWith(1)
    const tasks = await storedAll(system, 50)

    const outcomes = await timed(
      system,
      Promise.all(tasks.map(task => claimTask(system, task, { workerId: 'w1' }))),
    )

    expect(outcomes.filter(one => 'run' in one)).toHaveLength(1)
    expect(system.messages.limitLooks).toHaveLength(1)
  })

  it('stay one series when SQS delivers a message twice', async () => {
    const system = await aSystemWith(1)
    await blocked(system, await storedAll(system, 3))
    const { note } = await system.limits.line(PERMITS)
    const look = { line: PERMITS, at: note?.lookAt ?? 0, delaySeconds: 0 }
    await system.clock.advance(SECOND)

    await serveLimitLook(system, look)
    await serveLimitLook(system, look)

    expect(system.messages.limitLooks).toHaveLength(1)
  })

  it('continue while a task waits, although the limit is not used up', async () => {
    const system = await aSystemWith(2)
    await blocked(system, await storedAll(system, 3))

    await lookInSeries(system)
    await system.clock.advance(5 * SECOND)
    await lookInSeries(system)

    expect(system.messages.limitLooks).toHaveLength(2)
  })

  it('find a task whose claim read the note just before the line was empty, and end after it', async () => {
    const system = await aSystemWith(2)
    const [task] = (await storedAll(system, 1)) as [Task]
    await noteLine(system, PERMITS)
    for (let nth = 0; nth < 2; nth++) await lookInSeries(system)
    const isClosed = (await system.limits.line(PERMITS)).note?.isClosed
    await blocked(system, [task])
    await lookInSeries(system)
    const dispatched = dispatchedKeys(system)
    await claim(system, (await readTask(system, task.id)) as Task)

    for (let nth = 0; nth < 3; nth++) await lookInSeries(system)

    expect([isClosed, dispatched]).toEqual([false, ['k0']])
    expect((await system.limits.line(PERMITS)).note).toBeUndefined()
  })

  it('open the line to newcomers when the limit has more to grant than tasks wait', async () => {
    const system = await aSystemWith(3)
    const [first, newcomer] = (await storedAll(system, 2)) as [Task, Task]
    await blocked(system, [first])
    const early = await claim(system, newcomer)

    await system.clock.advance(SECOND)
    await lookInSeries(system)
    await system.clock.advance(SECOND)
    const late = await claim(system, (await readTask(system, newcomer.id)) as Task)

    expect(early).toMatchObject({ refused: 'concurrency-limit' })
    expect(late).toHaveProperty('run')
  })

  it('are not needed when a permit was released before the line was noted', async () => {
    const system = await aSystemWith(1)
    const [first, second] = (await storedAll(system, 2)) as [Task, Task]
    const held = await claim(system, first)
    const racing: MemorySystem = {
      ...system,
      limits: {
        ...system.limits,
        putLine: async (...args) => {
          if ('run' in held) await releasePermits(system, held.run.permits ?? [])
          return system.limits.putLine(...args)
        },
      },
    }

    expect(await claim(racing, second)).toHaveProperty('run')
  })

  it('find their note again when the next one could not be sent', async () => {
    const system = await aSystemWith(1)
    await blocked(system, await storedAll(system, 2))
    const failing: MemorySystem = {
      ...system,
      messages: {
        ...system.messages,
        lookAtLimits: async () => [{ index: 0, reason: 'no answer', transient: true }],
      },
    }
    await system.clock.advance(SECOND)

    await expect(lookInSeries(failing)).rejects.toThrow('no answer')
    await lookInSeries(system)

    expect(system.messages.limitLooks).toHaveLength(1)
  })

  it('begin again within a round of the sweeper after a lost look, without a read of any task', async () => {
    const system = await aSystemWith(1)
    await blocked(system, await storedAll(system, 3))
    const tasks: MemorySystem['tasks'] = {
      ...system.tasks,
      heads: () => Promise.reject(new Error('a task was read')),
    }
    await system.clock.advance(15 * SECOND)
    const early = await sweepLines({ ...system, tasks })
    await system.clock.advance(MINUTE)

    const late = await sweepLines({ ...system, tasks })

    expect([early, late]).toEqual([0, 1])
    expect(system.messages.limitLooks).toMatchObject([{ line: PERMITS, delaySeconds: 1 }])
  })

  it('of a thousand lines begin again in one round of the sweeper', async () => {
    const system = await aSystemWith(1)
    for (let nth = 0; nth < 1_000; nth++) await noteLine(system, { kind: 'slot', limit: `resize=${nth}` })
    system.messages.limitLooks.length = 0
    await system.clock.advance(MINUTE)

    await sweep(system)

    expect(system.messages.limitLooks).toHaveLength(1_000)
  })

  it('wait for the limit to grant again, at most 15 minutes, and look at nothing meanwhile', async () => {
    const system = await aSystemWith(1, { limits: { rate: { limit: 1, perMs: 36_000_000 } } })
    const [first, second] = (await storedAll(system, 2)) as [Task, Task]
    await claim(system, first)

    await claim(system, second)

    expect(system.messages.limitLooks).toMatchObject([{ line: { kind: 'slot' }, delaySeconds: 900 }])
  })
})
