import { expect, it } from 'vitest'
import { sendMessages } from '../../shared/runtime/plan/plan.ts'
import { MINUTE, SECOND } from '../support/tasks/a-task.ts'
import { aMemorySystem, stored } from '../support/worlds/memory-system.ts'
import { aDefinition, aGate, aWorkerWorld, ended } from './a-worker-world.ts'

it('a worker finds a task that names it in workerIds within a second, without any message', async () => {
  const system = aMemorySystem()
  const world = aWorkerWorld({ tasks: [aDefinition(() => 'done')] }, system)
  const mine = await stored(system, { key: 'mine', options: { workerIds: ['w1'] } })
  const other = await stored(system, { key: 'other', options: { workerIds: ['w2'] } })
  await sendMessages(system, [mine, other])

  await system.clock.advance(1.1 * SECOND)

  expect(await world.head(mine)).toMatchObject({ state: 'succeeded', ended: { 1: { workerId: 'w1' } } })
  expect(await world.head(other)).toMatchObject({ state: 'open', fence: 0 })
})

it('a worker takes no more tasks that name it than its free capacity', async () => {
  const system = aMemorySystem()
  const gate = aGate()
  aWorkerWorld({ tasks: [aDefinition(gate.run)], concurrency: 2 }, system)
  const tasks = await Promise.all(
    [1, 2, 3].map(i => stored(system, { key: `mine-${i}`, options: { workerIds: ['w1'] } })),
  )
  await sendMessages(system, tasks)

  await system.clock.advance(5 * SECOND)
  const atFirst = gate.running()
  gate.openAll()
  await system.clock.advance(2 * SECOND)

  expect([atFirst, gate.running()]).toEqual([2, 1])
})

it('a worker is in the registry from its start to its end, with its types and its running tasks', async () => {
  const gate = aGate()
  const world = aWorkerWorld({ tasks: [aDefinition(gate.run)], version: '1.2' })
  await world.dispatched(2)

  await world.system.clock.advance(60 * SECOND)
  const during = await world.system.workers.list()
  await ended(world)
  const afterwards = await world.system.workers.list()

  expect(during).toMatchObject([
    { workerId: 'w1', kind: 'standalone', version: '1.2', types: ['resize'], running: 2 },
  ])
  expect(afterwards).toEqual([])
})

it('a worker stays in the registry while its stop waits for its run', async () => {
  const gate = aGate()
  const world = aWorkerWorld({ tasks: [aDefinition(gate.run)], drainMs: 10 * MINUTE })
  await world.dispatched(1)
  await world.system.clock.advance(1 * SECOND)

  const stopped = world.worker.stop()
  await world.system.clock.advance(2 * MINUTE)
  const during = await world.system.workers.list()
  gate.openAll()
  await world.system.clock.advance(1 * SECOND)
  await stopped

  expect(during).toMatchObject([{ workerId: 'w1', running: 1 }])
  expect(await world.system.workers.list()).toEqual([])
})
