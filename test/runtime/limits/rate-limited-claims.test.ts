import { expect, it } from 'vitest'
import { endWait, throttle } from '../../../shared/core/limits/wait.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { claimOverHttp } from '../../../shared/runtime/claim/http-claims.ts'
import { readTask } from '../../../shared/runtime/kernel/read-heads.ts'
import { createHttpWorkers } from '../../../shared/runtime/worker/announce-http-workers.ts'
import { changeOf, NOW, SECOND } from '../../support/tasks/a-task.ts'
import {
  aMemorySystem,
  type MemorySystem,
  registered,
  stored,
  timed,
} from '../../support/worlds/memory-system.ts'

const RATE = { limit: 1, perMs: 10 * SECOND }
const RATE_TEXT = '1/10000'
const W1 = { workerId: 'w1' }

/** A task of a type with a rate limit, which waits for its slot at `at`. */
async function waitingUntil(system: MemorySystem, at: number): Promise<Task> {
  const task = await stored(system, { type: 'email' })
  await registered(system, {
    type: 'email',
    configuration: { kind: 'handler', defaults: {}, shards: 1, limits: { rate: RATE } },
  })
  const slot = { limit: 'email', at, rateText: RATE_TEXT }
  const { after } = changeOf(throttle(task, slot, NOW))
  await system.tasks.apply(changeOf(throttle(task, slot, NOW)))
  return after
}

it('a worker that claims a task before its slot does not put the slot off, however often it claims', async () => {
  const system = aMemorySystem()
  const task = await waitingUntil(system, NOW + 8 * SECOND)

  const answers = [await claimTask(system, task, W1), await claimTask(system, task, W1)]

  expect(answers).toEqual(Array(2).fill({ refused: 'rate-limit', limit: 'email', lostToOthers: false }))
  expect((await readTask(system, task.id))?.wait).toEqual(task.wait)
})

it('a slot that was used for another task starts no second task', async () => {
  const system = aMemorySystem()
  const seen = await waitingUntil(system, NOW)
  await system.tasks.apply(changeOf(endWait(seen, NOW)))

  const answer = await claimTask(system, seen, W1)

  expect(answer).toMatchObject({ refused: 'gone' })
  expect((await readTask(system, seen.id))?.live).toEqual({})
})

it('a waiting claim over HTTP is answered when the next slot is free, and polls no more often', async () => {
  const system = aMemorySystem()
  const limits = { rate: { limit: 1, perMs: SECOND } }
  await registered(system, { configuration: { kind: 'http', defaults: {}, shards: 1, limits } })
  for (const key of ['a', 'b']) await stored(system, { key, kind: 'http' })
  const request = { types: ['resize'], claimer: W1, limit: 1, waitMs: 5 * SECOND }
  let looks = 0
  const workers = createHttpWorkers(system)
  const read = system.targets.of
  Object.assign(system.targets, {
    of: (...args: Parameters<typeof read>) => {
      looks += 1
      return read(...args)
    },
  })

  await timed(system, claimOverHttp(system, request, workers))
  const second = await timed(system, claimOverHttp(system, request, workers))

  expect(second).toMatchObject({ ok: true, claims: [{ task: { key: 'b' } }] })
  expect(system.clock.now() - NOW).toBeGreaterThanOrEqual(SECOND)
  expect(system.clock.now() - NOW).toBeLessThan(1_250)
  expect(looks).toBeLessThanOrEqual(4)
})
