import { describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from '../../support/worlds/memory-system.ts'
import { afterLostRun, servedDispatches } from '../../support/worlds/served-dispatches.ts'

/** A type that is run in the order of priorities, with tasks whose keys are their priorities. */
async function aPrioritySystem(priorities: readonly number[]) {
  const system = aMemorySystem()
  const configuration = {
    kind: 'handler',
    defaults: {},
    shards: 1,
    ordering: 'priority',
    limits: {},
  } as const
  await registered(system, { configuration })
  const tasks = await Promise.all(
    priorities.map(priority => stored(system, { key: `${priority}`, priority, ordering: 'priority' })),
  )
  return { system, tasks }
}

/** Serves the tickets in one batch. Returns the keys of the tasks that ran, and the dispatches that were sent back. */
async function served(system: MemorySystem, tickets: ReadonlyArray<{ task: Task; passedOn?: number }>) {
  const ran: string[] = []
  const received = tickets.map((one, nth) => ({ messageId: `m${nth}`, ...one }))
  const again = await servedDispatches(system, received, { run: ({ key }) => void ran.push(key) })
  const sent = system.messages.dispatches.map(({ task, delaySeconds, passedOn }) => [
    task.key,
    delaySeconds,
    passedOn,
  ])
  return { ran: ran.sort(), again, sent }
}

describe('the tickets of a batch', () => {
  it('claim one task each, in order; a ticket without a task is passed on, unless it was passed on twice', async () => {
    const { system, tasks } = await aPrioritySystem([1, 2])
    const taken = await stored(system, { key: 'taken', ordering: 'priority' })
    await claimTask(system, taken, { workerId: 'lambda-0' })

    const { ran, again, sent } = await served(system, [
      { task: taken, passedOn: 2 },
      { task: taken },
      ...tasks.map(task => ({ task })),
    ])

    expect([ran, again, sent]).toEqual([['1', '2'], [], [['taken', 1, 1]]])
  })

  it('run a suspect alone: the other claimed tasks are released, and tickets without a task are passed on at once', async () => {
    const { system, tasks } = await aPrioritySystem([1, 2])
    const [one, two] = tasks as [Task, Task]
    await afterLostRun(system, two)
    const named = await Promise.all(
      ['a', 'b', 'c'].map(key => stored(system, { key, ordering: 'priority', priority: 0 })),
    )
    for (const task of named.slice(1)) await claimTask(system, task, { workerId: 'lambda-0' })

    const { ran, again, sent } = await served(system, [
      ...named.map(task => ({ task })),
      ...named.slice(1).map(task => ({ task })),
    ])

    const released = await Promise.all([one, named[0]!].map(({ id }) => readTask(system, id)))
    expect([ran, again]).toEqual([['2'], []])
    expect(sent).toEqual([
      ['a', 0, 1],
      ['b', 0, 1],
    ])
    expect(released.map(head => head?.ended[head.fence]?.state)).toEqual(['released', 'released'])
  })
})
