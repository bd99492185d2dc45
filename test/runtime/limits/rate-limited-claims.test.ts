import { expect, it } from 'vitest'
import { revise } from '../../../shared/core/change.ts'
import { nextSlot } from '../../../shared/core/limits/slots.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { claimOverHttp } from '../../../shared/runtime/claim/http-claims.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { cancelTask } from '../../../shared/runtime/operate/operate.ts'
import { patchTask } from '../../../shared/runtime/operate/patch-task.ts'
import { createHttpWorkers } from '../../../shared/runtime/worker/announce-http-workers.ts'
import { NOW, SECOND } from '../../support/tasks/a-task.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'
import { aMemorySystem, registered, stored, timed } from '../../support/worlds/memory-system.ts'

const RATE = { limit: 1, perMs: 10 * SECOND }
const W1 = { workerId: 'w1' }

/** The second task of a type with one start in ten seconds, in the line of the limit. The first one has started. */
async function inLine(system: MemorySystem): Promise<Task> {
  await registered(system, {
    configuration: { kind: 'handler', defaults: {}, shards: 1, limits: { rate: RATE } },
  })
  await timed(system, claimTask(system, await stored(system, { key: 'first' }), W1))
  const task = await stored(system)
  await timed(system, claimTask(system, task, W1))
  return headOf(system, task)
}

async function headOf(system: MemorySystem, { id }: Task): Promise<Task> {
  return (await readTask(system, id)) as Task
}

it('a worker that claims a task in a line before a start is free writes nothing, however often it claims', async () => {
  const system = aMemorySystem()
  const task = await inLine(system)

  const answers = [await claimTask(system, task, W1), await claimTask(system, task, W1)]

  expect(answers).toMatchObject(
    Array(2).fill({ refused: 'rate-limit', limit: 'resize', lostToOthers: false }),
  )
  expect(await headOf(system, task)).toEqual(task)
})

/** Changes the task when its claim has reserved the slot and waits for it, 500 ms before the slot. */
async function claimedMeanwhile(change: (system: MemorySystem, task: Task) => Promise<unknown>) {
  const system = aMemorySystem()
  const task = await inLine(system)
  const { log } = await system.limits.slots('resize')
  const slotAt = nextSlot(log, RATE, system.clock.now())
  await system.clock.advance(slotAt - 500 - system.clock.now())
  const claiming = claimTask(system, task, W1)
  await system.clock.advance(100)
  await change(system, await headOf(system, task))
  const outcome = await timed(system, claiming)
  return { system, task, outcome, slotAt }
}

it('a task that is changed while its claim waits for the slot starts in that slot', async () => {
  const { outcome, slotAt } = await claimedMeanwhile((system, { id }) =>
    patchTask(system, id, { tags: { note: '1' } }),
  )

  expect(outcome).toMatchObject({ task: { tags: { note: '1' } }, run: { startedAt: slotAt } })
})

it('the slot of a task that is cancelled while its claim waits is granted to the next task', async () => {
  const { system, outcome, slotAt } = await claimedMeanwhile((system, { id }) => cancelTask(system, id))
  const next = await stored(system, { key: 'next' })
  await timed(system, claimTask(system, next, W1))

  const taken = await timed(system, claimTask(system, await headOf(system, next), W1))

  expect(outcome).toMatchObject({ refused: 'finished' })
  expect('run' in taken && taken.run.startedAt - slotAt).toBeLessThan(500)
})

it('a task that moves to another limit while its claim waits does not use the slot', async () => {
  const system = aMemorySystem()
  const limits = { rate: { ...RATE, key: 'userId' } }
  await registered(system, { configuration: { kind: 'handler', defaults: {}, shards: 1, limits } })
  const task = await stored(system, { userId: 'a' })
  const moved = { ...system, tasks: { ...system.tasks } }
  moved.tasks.apply = async change => {
    moved.tasks.apply = system.tasks.apply
    const other = { ...task, userId: 'b', operation: 'patch' as const }
    await system.tasks.apply(revise(task, other, system.clock.now()).change)
    return system.tasks.apply(change)
  }

  expect(await timed(system, claimTask(moved, task, W1))).toMatchObject({ refused: 'gone' })
  expect((await system.limits.slots('resize=a')).log?.counts).toEqual([])
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
