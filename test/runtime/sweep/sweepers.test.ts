import { beforeEach, expect, it } from 'vitest'
import { SWEEPERS, type Sweeper, sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { createSweepMemory } from '../../../shared/runtime/sweep/sweep-round.ts'
import { NOTHING_SWEPT } from '../../../shared/runtime/sweeper/sweeper.ts'
import { MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from '../../support/worlds/memory-system.ts'

let system: MemorySystem
let errors: Array<{ message: string; fields: unknown }>
beforeEach(() => {
  errors = []
  const error = (message: string, fields: unknown) => void errors.push({ message, fields })
  system = aMemorySystem()
  Object.assign(system, { log: { ...system.log, error } })
})

const reporting = (name: string, report: Partial<typeof NOTHING_SWEPT>): Sweeper => ({
  name,
  repairs: name,
  round: async () => ({ ...NOTHING_SWEPT, ...report }),
})

it('a round reports the sum of what all sweepers did', async () => {
  const sweepers = [
    reporting('a', { examined: 5, repaired: 1 }),
    reporting('b', { examined: 2, failed: 3 }),
    reporting('c', {}),
  ]

  const report = await sweep(system, createSweepMemory(), sweepers)

  expect(report).toEqual({ examined: 7, repaired: 1, failed: 3 })
})

it('a round goes on when a sweeper fails, and says which one repairs nothing', async () => {
  const failing = { ...reporting('broken', {}), round: () => Promise.reject(new Error('no answer')) }

  const report = await sweep(system, createSweepMemory(), [failing, reporting('whole', { repaired: 1 })])

  expect(report).toEqual({ examined: 0, repaired: 1, failed: 1 })
  expect(errors).toMatchObject([{ fields: { sweeper: 'broken', error: new Error('no answer') } }])
})

it('a round tells each sweeper when to begin no further work', async () => {
  const ends: number[] = []
  const round: Sweeper['round'] = async (_round, stopAt) => {
    ends.push(stopAt - system.clock.now())
    return NOTHING_SWEPT
  }
  const limited = { ...reporting('limited', {}), workMsMax: 30_000, round }

  await sweep(system, createSweepMemory(), [limited, { ...reporting('unlimited', {}), round }])

  expect(ends).toEqual([30_000, Number.POSITIVE_INFINITY])
})

it('one call begins the rounds of all sweepers side by side', async () => {
  const begun: string[] = []
  const { promise: allBegun, resolve } = Promise.withResolvers<void>()
  const waiting = (name: string): Sweeper => ({
    ...reporting(name, {}),
    round: async () => {
      if (begun.push(name) === 2) resolve()
      await allBegun
      return NOTHING_SWEPT
    },
  })

  await sweep(system, createSweepMemory(), [waiting('first'), waiting('second')])

  expect(begun).toEqual(['first', 'second'])
})

it('a round looks for stuck tasks among those that a sweeper has read', async () => {
  await registered(system)
  const task = await stored(system)
  await system.clock.advance(24 * 60 * MINUTE)
  const reading = { ...reporting('reading', {}), round: async () => ({ ...NOTHING_SWEPT, tasks: [task] }) }

  await sweep(system, createSweepMemory(), [reporting('other', {})])
  const before = system.counted('Stuck')
  await sweep(system, undefined, [reading])

  expect([before, system.counted('Stuck')]).toEqual([0, 1])
})

it('a round repairs the tasks of a type that was read although the registry of workers does not answer', async () => {
  await registered(system)
  system.messages.backlogs.set('resize', 0)
  await stored(system)
  await system.clock.advance(11 * SECOND)
  const dropSilent = () => Promise.reject(new Error('no answer'))

  const report = await sweep({ ...system, workers: { ...system.workers, dropSilent } })

  expect(report).toEqual({ examined: 1, repaired: 1, failed: 1 })
  expect(errors).toMatchObject([{ fields: { sweeper: 'workers' } }])
})

it('the list has each sweeper once, with what it repairs', () => {
  const names = SWEEPERS.map(({ name }) => name)

  expect(new Set(names).size).toBe(names.length)
  expect(SWEEPERS.every(({ repairs }) => repairs.length > 0)).toBe(true)
})
