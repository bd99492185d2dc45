import { expect, it } from 'vitest'
import type { TaskType } from '../../../shared/core/types/task-type.ts'
import type { LogFields } from '../../../shared/ports/machine.ts'
import { removeTask } from '../../../shared/runtime/operate/operate.ts'
import { patchTask } from '../../../shared/runtime/operate/patch-task.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { createSweepMemory } from '../../../shared/runtime/sweep/sweep-round.ts'
import { MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'
import { aMemorySystem, claimed, registered, stored } from '../../support/worlds/memory-system.ts'

/** A system with a type, and what its sweeper reports about stuck tasks. */
async function aSystem(type: Partial<TaskType> = {}) {
  const reports: LogFields[] = []
  const system: MemorySystem = {
    ...aMemorySystem(),
    log: {
      debug: () => {},
      info: () => {},
      warn: (message, fields = {}) => void (message.includes('stuck') && reports.push(fields)),
      error: (message, fields) => expect.unreachable(`${message} ${JSON.stringify(fields)}`),
    },
  }
  await registered(system, type)
  system.messages.backlogs.set('resize', 0)
  return { system, reports }
}

const HTTP = { configuration: { kind: 'http', defaults: {}, shards: 1 } } as const
const UNSERVED = { handlerSince: undefined } as unknown as Partial<TaskType>
const overHttp = { kind: 'http', ordering: 'priority' } as const

async function seen(system: MemorySystem, workerId: string, startedAt = system.clock.now()): Promise<void> {
  const lastSeen = system.clock.now()
  await system.workers.announce({ workerId, kind: 'http', types: ['resize'], startedAt, lastSeen })
}

it('a task that no worker takes for 15 minutes is counted and named, in every round', async () => {
  const { system, reports } = await aSystem()
  const task = await stored(system)

  await system.clock.advance(15 * MINUTE - SECOND)
  await sweep(system)
  const early = [...reports]
  await system.clock.advance(SECOND)
  await sweep(system)

  expect(early).toEqual([])
  expect(reports).toEqual([{ type: 'resize', tasks: 1, ids: [task.id] }])
  expect(system.counted('Stuck')).toBe(1)
})

it('an operator who changes a stuck task gives it another 15 minutes', async () => {
  const { system, reports } = await aSystem()
  const task = await stored(system)
  await system.clock.advance(20 * MINUTE)
  await patchTask(system, task.id, { priority: 1 })

  await system.clock.advance(14 * MINUTE)
  await sweep(system)
  const early = [...reports]
  await system.clock.advance(MINUTE)
  await sweep(system)

  expect([early.length, reports.length]).toEqual([0, 1])
})

it('all stuck tasks are counted, some are named', async () => {
  const { system, reports } = await aSystem()
  for (let nth = 0; nth < 30; nth++) await stored(system, { key: `k${nth}` })
  await system.clock.advance(16 * MINUTE)

  await sweep(system)

  expect(reports).toMatchObject([{ tasks: 30, ids: { length: 10 } }])
})

it('a run that shows no sign of life and cannot be recorded as lost is reported', async () => {
  const { system, reports } = await aSystem()
  const task = await claimed(system, await stored(system))
  await system.clock.advance(16 * MINUTE)

  await sweep(system)

  expect(reports).toMatchObject([{ ids: [task.id] }])
})

it.each<[string, Partial<TaskType>, number | undefined]>([
  ['its type is paused', { paused: true }, 0],
  ['others wait before it', {}, 1],
  ['nothing is deployed that serves it', UNSERVED, undefined],
  ['no worker is there', { servedBy: 'workers' }, 0],
  ['its handler is deployed only just', { handlerSince: NOW + 10 * MINUTE }, 0],
  ['its type was changed lately', { updatedAt: NOW + 10 * MINUTE }, 0],
  ['no HTTP worker is there', HTTP, undefined],
])('a task may wait while %s', async (_name, type, backlog) => {
  const { system, reports } = await aSystem(type)
  if (backlog === undefined) system.messages.backlogs.delete('resize')
  else system.messages.backlogs.set('resize', backlog)
  await stored(system, type.configuration?.kind === 'http' ? overHttp : {})
  await system.clock.advance(20 * MINUTE)

  await sweep(system)

  expect(reports).toEqual([])
})

it('over HTTP a task is stuck when workers ask for such tasks and work on none', async () => {
  const { system, reports } = await aSystem(HTTP)
  await stored(system, { ...overHttp, key: 'waits' })
  const other = await stored(system, { ...overHttp, key: 'other' })
  await system.clock.advance(20 * MINUTE)
  await seen(system, 'newcomer')
  await sweep(system)
  const whileNew = [...reports]
  await claimed(system, other)
  await seen(system, 'old', NOW)
  await sweep(system)
  const whileWorking = [...reports]

  await system.clock.advance(MINUTE)
  await seen(system, 'old', NOW)
  await removeTask(system, other.id)
  await sweep(system)

  expect([whileNew, whileWorking]).toEqual([[], []])
  expect(reports).toMatchObject([{ ids: ['resize:waits'] }])
})

it('a stuck task is not reported in the first rounds after missed ones, because these repair first', async () => {
  const { system, reports } = await aSystem()
  await stored(system)
  const memory = createSweepMemory()
  await system.clock.advance(60 * MINUTE)

  for (let minute = 0; minute < 14; minute++) {
    await sweep(system, memory)
    await system.clock.advance(MINUTE)
  }
  const early = [...reports]
  await system.clock.advance(MINUTE)
  await sweep(system, memory)

  expect([early.length, reports.length]).toEqual([0, 1])
})

it('a round without a quiet task reads no workers', async () => {
  const { system } = await aSystem()
  await stored(system)
  await system.clock.advance(MINUTE)
  const list = () => Promise.reject(new Error('not asked for'))

  const report = await sweep({ ...system, workers: { ...system.workers, list } })

  expect(report.examined).toBe(1)
})
