import { beforeEach, expect, it } from 'vitest'
import { NOTHING_SWEPT } from '../../../shared/runtime/repair.ts'
import { REPAIRS, type Repair, sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { createSweepMemory } from '../../../shared/runtime/sweep/sweep-round.ts'
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

const reporting = (name: string, report: Partial<typeof NOTHING_SWEPT>): Repair => ({
  name,
  repairs: name,
  round: async () => ({ ...NOTHING_SWEPT, ...report }),
})

it('a round reports the sum of what all repairs did', async () => {
  const repairs = [
    reporting('a', { examined: 5, repaired: 1 }),
    reporting('b', { examined: 2, failed: 3 }),
    reporting('c', {}),
  ]

  const report = await sweep(system, createSweepMemory(), { repairs })

  expect(report).toEqual({ examined: 7, repaired: 1, failed: 3 })
})

it('a round goes on when a repair fails, and says which one mends nothing', async () => {
  const failing = { ...reporting('broken', {}), round: () => Promise.reject(new Error('no answer')) }

  const report = await sweep(system, createSweepMemory(), {
    repairs: [failing, reporting('whole', { repaired: 1 })],
  })

  expect(report).toEqual({ examined: 0, repaired: 1, failed: 1 })
  expect(errors).toMatchObject([{ fields: { repair: 'broken', error: new Error('no answer') } }])
})

it('a round tells each repair when to begin no further work', async () => {
  const ends: number[] = []
  const round: Repair['round'] = async (_round, stopAt) => {
    ends.push(stopAt - system.clock.now())
    return NOTHING_SWEPT
  }
  const limited = { ...reporting('limited', {}), workMsMax: 30_000, round }

  await sweep(system, createSweepMemory(), { repairs: [limited, { ...reporting('unlimited', {}), round }] })

  expect(ends).toEqual([30_000, Number.POSITIVE_INFINITY])
})

it('one call begins the rounds of all repairs side by side', async () => {
  const begun: string[] = []
  const { promise: allBegun, resolve } = Promise.withResolvers<void>()
  const waiting = (name: string): Repair => ({
    ...reporting(name, {}),
    round: async () => {
      if (begun.push(name) === 2) resolve()
      await allBegun
      return NOTHING_SWEPT
    },
  })

  await sweep(system, createSweepMemory(), { repairs: [waiting('first'), waiting('second')] })

  expect(begun).toEqual(['first', 'second'])
})

it('a round looks for stuck tasks among those that a repair has read', async () => {
  await registered(system)
  const task = await stored(system)
  await system.clock.advance(24 * 60 * MINUTE)
  const reading = { ...reporting('reading', {}), round: async () => ({ ...NOTHING_SWEPT, tasks: [task] }) }

  await sweep(system, createSweepMemory(), { repairs: [reporting('other', {})] })
  const before = system.counted('Stuck')
  await sweep(system, undefined, { repairs: [reading] })

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
  expect(errors).toMatchObject([{ fields: { repair: 'workers' } }])
})

it('the list has each repair once, with what it repairs', () => {
  const names = REPAIRS.map(({ name }) => name)

  expect(new Set(names).size).toBe(names.length)
  expect(REPAIRS.every(({ repairs }) => repairs.length > 0)).toBe(true)
})
