import { describe, expect, it } from 'vitest'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { DISPATCH_HOPS_MAX } from '../../../shared/runtime/dispatch/disposition.ts'
import type { ReceivedDispatch } from '../../../shared/runtime/dispatch/serve-dispatches.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { acquirePermits } from '../../../shared/runtime/limits/permits.ts'
import { MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import { aSystemWith, limited } from '../../support/worlds/limited-system.ts'
import {
  aMemorySystem,
  beforeWrites,
  type MemorySystem,
  noAnswer,
  registered,
  stored,
} from '../../support/worlds/memory-system.ts'
import { afterLostRun, servedDispatches } from '../../support/worlds/served-dispatches.ts'

/** Lambda stops a chain at the 17th invocation of a function. */
const CHAIN_INVOCATIONS_MAX = 16

/** The reasons why a function sends a dispatch on, each with the system and the received dispatches. */
const REASONS: Record<
  string,
  () => Promise<{ system: MemorySystem; received: ReceivedDispatch[]; on?: System }>
> = {
  'an outage of the store': async () => {
    const system = aMemorySystem()
    return {
      system,
      on: beforeWrites(system, noAnswer),
      received: [{ messageId: 'm', task: await stored(system) }],
    }
  },
  'a slot that is still ahead': async () => {
    const system = aMemorySystem()
    const seen = await stored(system, { dueAt: system.clock.now() + MINUTE })
    return { system, received: [{ messageId: 'm', task: seen }] }
  },
  'a task that runs alone': async () => {
    const system = aMemorySystem()
    const suspect = {
      messageId: 'suspect',
      task: await afterLostRun(system, await stored(system, { key: 'suspect' })),
    }
    return { system, received: [suspect, { messageId: 'm', task: await stored(system) }] }
  },
  'a task that another worker is about to claim': async () => {
    const system = await aSystemWith(1)
    const seen = await stored(system)
    await acquirePermits(system, seen, [limited(1)])
    return { system, received: [{ messageId: 'm', task: seen }] }
  },
  'a ticket that finds no task': async () => {
    const system = aMemorySystem()
    await registered(system, {
      configuration: { kind: 'handler', defaults: {}, shards: 1, ordering: 'priority' },
    })
    const seen = await stored(system, { ordering: 'priority' })
    await claimTask(system, seen, { workerId: 'w2' })
    return { system, received: [{ messageId: 'm', task: seen }] }
  },
}

describe('a chain of dispatches', () => {
  it.each(Object.entries(REASONS))(
    'counts one hop more when a dispatch is sent on because of %s',
    async (_name, given) => {
      const { system, received, on } = await given()

      const again = await servedDispatches(
        system,
        received.map(one => ({ ...one, hops: 7 })),
        on && { on },
      )

      expect([again, system.messages.dispatches.map(({ hops }) => hops)]).toEqual([[], [8]])
    },
  )

  it.each(Object.entries(REASONS))(
    'ends at its bound, in spite of %s: the message stays in the queue, unless it is a refused ticket',
    async (name, given) => {
      const { system, received, on } = await given()
      const stays = name === 'a ticket that finds no task' ? [] : ['m']

      const again = await servedDispatches(
        system,
        received.map(one => ({ ...one, hops: DISPATCH_HOPS_MAX })),
        on && { on },
      )

      expect([again, system.messages.dispatches]).toEqual([stays, []])
      expect(system.counted('LookLoop')).toBe(1)
    },
  )

  it('continues the longest chain of its batch, as Lambda counts it', async () => {
    const system = aMemorySystem()
    const received = [
      { messageId: 'a', task: await stored(system, { key: 'a' }), hops: 1 },
      { messageId: 'b', task: await stored(system, { key: 'b' }), hops: 9 },
    ]

    await servedDispatches(system, received, { on: beforeWrites(system, noAnswer) })

    expect(system.messages.dispatches.map(({ hops }) => hops)).toEqual([10, 10])
  })

  it('spans an outage of an hour within the invocations that Lambda allows', async () => {
    const system = aMemorySystem()
    let next: ReceivedDispatch | undefined = { messageId: 'm', task: await stored(system) }
    const begun = system.clock.now()
    let invocations = 0

    while (next) {
      invocations += 1
      await servedDispatches(system, [next], { on: beforeWrites(system, noAnswer) })
      const [sent] = system.messages.dispatches.splice(0)
      await system.clock.advance((sent?.delaySeconds ?? 0) * SECOND)
      next = sent && { messageId: 'm', task: sent.task, hops: sent.hops ?? 0 }
    }

    expect(invocations).toBe(DISPATCH_HOPS_MAX + 1)
    expect(invocations).toBeLessThan(CHAIN_INVOCATIONS_MAX)
    expect(system.clock.now() - begun).toBeGreaterThan(60 * MINUTE)
  })
})
