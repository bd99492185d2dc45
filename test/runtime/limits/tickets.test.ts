import { describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TypeLimits } from '../../../shared/core/types/task-type.ts'
import { claimByTickets, createTicketClaimer } from '../../../shared/runtime/claim/claim-by-ticket.ts'
import type { ClaimResult } from '../../../shared/runtime/claim/claim-ready.ts'
import { serveLimitLook } from '../../../shared/runtime/limits/serve-limit-looks.ts'
import { aMemorySystem, registered, stored, timed } from '../../support/worlds/memory-system.ts'

const CLAIMER = { workerId: 'w1' }

async function aPrioritySystem(limits: TypeLimits = {}) {
  const system = aMemorySystem()
  const type = await registered(system, {
    configuration: { kind: 'handler', defaults: {}, shards: 1, ordering: 'priority', limits },
  })
  const storedAs = (key: string, priority: number) => stored(system, { key, priority, ordering: 'priority' })
  return { system, type, storedAs }
}

const keysOf = ({ claimed }: ClaimResult) => claimed.map(({ task }) => task.key)

const ticketFor = (task: Task) => ({ task, passedOn: 0 })

describe('a ticket', () => {
  it('claims the best waiting task, not the one that it names', async () => {
    const { system, type, storedAs } = await aPrioritySystem()
    const low = await storedAs('low', 1)
    await storedAs('high', 9)

    const first = await claimByTickets(system, type, CLAIMER, [low])
    const second = await claimByTickets(system, type, CLAIMER, [low])
    const third = await claimByTickets(system, type, CLAIMER, [low])

    expect([keysOf(first), keysOf(second), keysOf(third)]).toEqual([['high'], ['low'], []])
    expect(third.waiting).toBe(0)
  })

  it('whose task has been taken stands for another', async () => {
    const { system, type, storedAs } = await aPrioritySystem()
    const taken = await storedAs('taken', 1)
    await claimByTickets(system, type, CLAIMER, [taken])
    await storedAs('left', 1)

    const outcome = await claimByTickets(system, type, CLAIMER, [taken])

    expect(keysOf(outcome)).toEqual(['left'])
  })

  it('is served together with other tickets: they claim one task each, in order', async () => {
    const { system, type, storedAs } = await aPrioritySystem()
    const named: Task[] = []
    for (let nth = 0; nth < 6; nth++) named.push(await storedAs(`k${nth}`, nth))

    const outcome = await claimByTickets(system, type, CLAIMER, named.slice(0, 3))

    expect(keysOf(outcome)).toEqual(['k5', 'k4', 'k3'])
  })

  it('claims tasks with large inputs, too, since they need not fit an answer over HTTP', async () => {
    const { system, type } = await aPrioritySystem()
    const named: Task[] = []
    const input = { ref: 'in', bytes: 350 * 1_024, expiresAt: Number.MAX_SAFE_INTEGER }
    for (let nth = 0; nth < 10; nth++) {
      named.push(await stored(system, { key: `large-${nth}`, ordering: 'priority', input }))
    }

    const outcome = await claimByTickets(system, type, CLAIMER, named)

    expect(outcome.claimed).toHaveLength(10)
  })

  it('waits while other tickets are served, and is then served together with all that wait', async () => {
    const { system, type, storedAs } = await aPrioritySystem()
    const named: Task[] = []
    for (let nth = 0; nth < 3; nth++) named.push(await storedAs(`k${nth}`, nth))
    const claimByTicket = createTicketClaimer(system, CLAIMER)

    const outcomes = await Promise.all(
      [...named, named[0] as Task].map(task => claimByTicket(type, ticketFor(task))),
    )

    const claimed = outcomes.flatMap(one => (typeof one === 'object' ? one.task.key : []))
    expect(claimed.sort()).toEqual(['k0', 'k1', 'k2'])
    expect(outcomes.filter(one => one === 'no-task')).toHaveLength(1)
  })

  it('that arrives while other tickets are served is served by the latest configuration of its type', async () => {
    const { system, type, storedAs } = await aPrioritySystem()
    const claimByTicket = createTicketClaimer(system, CLAIMER)
    const first = await storedAs('first', 1)
    const grown = { ...type, configuration: { ...type.configuration, shards: 2 } }
    await stored(system, { key: 'second', ordering: 'priority', shard: 1 })

    const asking = [claimByTicket(type, ticketFor(first)), claimByTicket(grown, ticketFor(first))]
    const outcomes = await timed(system, Promise.all(asking))

    expect(outcomes).toMatchObject([{ task: { key: 'first' } }, { task: { key: 'second' } }])
  })

  it('claims the best task at the next slot, and writes nothing to the task that it names', async () => {
    const { system, type, storedAs } = await aPrioritySystem({ rate: { limit: 1, perMs: 10_000 } })
    const [first, low] = [await storedAs('first', 1), await storedAs('low', 1)]
    await timed(system, claimByTickets(system, type, CLAIMER, [first]))
    const early = await timed(system, claimByTickets(system, type, CLAIMER, [low]))
    await storedAs('high', 9)
    const [look] = system.messages.limitLooks

    await system.clock.advance((look?.delaySeconds ?? 0) * 1_000)
    if (look) await serveLimitLook(system, look)
    const named = system.messages.dispatches.map(({ task }) => task)
    const outcome = await timed(system, claimByTickets(system, type, CLAIMER, named))
    const again = await timed(system, claimByTickets(system, type, CLAIMER, [low]))

    expect([keysOf(early), early.waiting]).toEqual([[], 1])
    expect(named).toHaveLength(1)
    expect([keysOf(outcome), keysOf(again)]).toEqual([['high'], []])
    expect(await system.tasks.head(low.id)).toEqual(low)
  })

  it('claims a task that waits for a permit before one that came later', async () => {
    const { system, type, storedAs } = await aPrioritySystem({ concurrency: { max: 1 } })
    const [running, waits] = [await storedAs('running', 1), await storedAs('waits', 5)]
    const begun = await claimByTickets(system, type, CLAIMER, [running, waits])
    const later = await storedAs('later', 0)
    const [held] = begun.claimed
    for (const { limit, holder } of held?.run.permits ?? []) await system.limits.release(limit, holder)

    const outcome = await claimByTickets(system, type, CLAIMER, [later])

    expect([keysOf(begun), begun.waiting]).toEqual([['waits'], 1])
    expect(keysOf(outcome)).toEqual(['running'])
  })
})
