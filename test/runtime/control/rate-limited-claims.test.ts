import { expect, it } from 'vitest'
import { throttle, unblock } from '../../../shared/core/control/wait.ts'
import type { Task } from '../../../shared/core/task.ts'
import { claimTask } from '../../../shared/runtime/claim-task.ts'
import { changeOf, NOW, SECOND } from '../../support/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from '../../support/memory-system.ts'

const RATE = { limit: 1, perMs: 10 * SECOND }
const TERMS = '1/10000'
const W1 = { workerId: 'w1' }

/** A task of a type with a rate limit, that waits for its turn at `at`. */
async function waitingUntil(system: MemorySystem, at: number): Promise<Task> {
  const task = await stored(system, { type: 'email' })
  await registered(system, {
    type: 'email',
    configuration: { kind: 'handler', defaults: {}, shards: 1, limits: { rate: RATE } },
  })
  const turn = { limit: 'email', at, terms: TERMS }
  const { after } = changeOf(throttle(task, turn, NOW))
  await system.tasks.apply(changeOf(throttle(task, turn, NOW)))
  return after
}

it('a worker that finds a task before its turn does not put that off, however often it looks', async () => {
  const system = aMemorySystem()
  const task = await waitingUntil(system, NOW + 8 * SECOND)

  const answers = [await claimTask(system, task, W1), await claimTask(system, task, W1)]

  expect(answers).toEqual(Array(2).fill({ refused: 'rate-limit', limit: 'email', lostToOthers: false }))
  expect((await system.tasks.head(task.id))?.wait).toEqual(task.wait)
})

it('a turn that was spent on another task starts no second one', async () => {
  const system = aMemorySystem()
  const seen = await waitingUntil(system, NOW)
  await system.tasks.apply(changeOf(unblock(seen, NOW)))

  const answer = await claimTask(system, seen, W1)

  expect(answer).toMatchObject({ refused: 'gone' })
  expect((await system.tasks.head(seen.id))?.live).toEqual({})
})
