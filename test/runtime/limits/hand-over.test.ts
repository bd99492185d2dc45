import { describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType } from '../../../shared/core/types/task-type.ts'
import { claimByTickets } from '../../../shared/runtime/claim/claim-by-ticket.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { serveLimitLook } from '../../../shared/runtime/limits/serve-limit-looks.ts'
import { aSystemWith, blocked, lookOnce, storedAll } from '../../support/worlds/limited-system.ts'
import { type MemorySystem, timed } from '../../support/worlds/memory-system.ts'

const REQUEST_MS = 100

/** Each request takes the same time, so the duration of a call counts its requests in a row. */
function slow<Port extends object>(port: Port, system: MemorySystem): Port {
  const entries = Object.entries(port).map(([name, call]) => [
    name,
    async (...given: unknown[]) => {
      await system.clock.sleep(REQUEST_MS)
      return call(...given)
    },
  ])
  return Object.fromEntries(entries)
}

async function requestsInARow(system: MemorySystem, work: (reached: System) => Promise<unknown>) {
  const { tasks, limits, types, messages } = system
  const began = system.clock.now()
  const reached = {
    ...system,
    tasks: slow(tasks, system),
    limits: slow(limits, system),
    types: slow(types, system),
    messages: slow(messages, system),
  }
  await timed(system, work(reached))
  return Math.floor((system.clock.now() - began) / REQUEST_MS)
}

/** Sixty tasks of an ordered type, which runs one task at a time. */
async function anOrderedType(): Promise<{ system: MemorySystem; type: TaskType; tasks: Task[] }> {
  const system = await aSystemWith(1, { ordering: 'priority', shards: 4 })
  const tasks = await storedAll(system, 60, { ordering: 'priority' })
  const type = await system.types.get('resize')
  if (!type) throw new Error('the type is registered')
  return { system, type, tasks }
}

describe('a permit that passes from a run to the next task of an ordered type', () => {
  it('costs the waker six requests in a row: the type, the note, the permits, a query, the note again, and the ticket', async () => {
    const { system } = await anOrderedType()
    await blocked(system, [])

    const count = await requestsInARow(system, reached => serveLimitLook(reached, lookOnce))

    expect(system.messages.dispatches).toHaveLength(1)
    expect(count).toBeLessThanOrEqual(7)
  })

  it('costs the worker five requests in a row: a query, the heads, the type, the permit and the claim', async () => {
    const { system, type, tasks } = await anOrderedType()
    const last = tasks.slice(-1)

    const count = await requestsInARow(system, async reached => {
      const { claimed } = await claimByTickets(reached, type, { workerId: 'w1' }, last)
      expect(claimed).toHaveLength(1)
    })

    expect(count).toBe(5)
  })
})
