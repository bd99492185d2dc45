import { beforeEach, expect, it } from 'vitest'
import type { IndexEntry } from '../../../shared/ports/stores.ts'
import { readAfter, readFromCursor } from '../../../shared/runtime/repair.ts'
import { aMemorySystem, type MemorySystem } from '../../support/worlds/memory-system.ts'

const RANGE = { index: 'view', partition: 'p' } as const

let system: MemorySystem
let entries: IndexEntry[]
let limits: number[]
let puts: unknown[]
beforeEach(() => {
  system = aMemorySystem()
  limits = []
  puts = []
  const { put } = system.records
  const page: MemorySystem['tasks']['page'] = async ({ after, limit }) => {
    limits.push(limit)
    const rest = entries.filter(({ sort }) => Number(sort) > Number(after?.sort ?? -1))
    return { entries: rest.slice(0, limit), more: rest.length > limit }
  }
  Object.assign(system, {
    tasks: { ...system.tasks, page },
    records: {
      ...system.records,
      put: (...args: Parameters<typeof put>) => {
        puts.push(args[1])
        return put(...args)
      },
    },
  })
})

const entriesUpTo = (count: number) => Array.from({ length: count }, (_, sort) => ({ id: `t${sort}`, sort }))
const readNext = async (budget: number) =>
  (await readFromCursor(system, 'cursor', RANGE, budget)).map(({ sort }) => Number(sort))

it('the reader goes on where the last round stopped, and begins anew at the end', async () => {
  entries = entriesUpTo(5)

  const rounds = [await readNext(2), await readNext(2), await readNext(2), await readNext(2)]

  expect(rounds).toEqual([[0, 1], [2, 3], [4], [0, 1]])
  expect(puts).toEqual([{ id: 't1', sort: 1 }, { id: 't3', sort: 3 }, null, { id: 't1', sort: 1 }])
})

it('the reader reads a large budget in pages of 500', async () => {
  entries = entriesUpTo(2_000)

  const read = await readNext(1_200)

  expect([read.length, limits]).toEqual([1_200, [500, 500, 200]])
})

it('the reader goes past entries that are known without counting them', async () => {
  entries = entriesUpTo(1_000)
  const known = new Set(entries.slice(2, 700).map(({ id }) => id))

  const { entries: read, position } = await readAfter(system, undefined, RANGE, 4, known)

  expect(read.map(({ sort }) => sort)).toEqual([0, 1, 700, 701])
  expect(position).toEqual({ id: 't701', sort: 701 })
})

it('the reader records nothing where a round reads the whole range', async () => {
  entries = entriesUpTo(3)

  const rounds = [await readNext(50), await readNext(50)]

  expect(rounds).toEqual([
    [0, 1, 2],
    [0, 1, 2],
  ])
  expect(puts).toEqual([])
})

it('the reader goes on after an entry that has left the range meanwhile', async () => {
  entries = entriesUpTo(5)
  await readNext(2)
  entries = entries.filter(({ id }) => id !== 't1')

  expect(await readNext(2)).toEqual([2, 3])
})
