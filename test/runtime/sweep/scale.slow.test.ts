import { describe, expect, it } from 'vitest'
import type { Ordering, TypeKind } from '../../../shared/core/states.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { IndexEntry, IndexPage, IndexQuery } from '../../../shared/ports/stores.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { createSweepMemory } from '../../../shared/runtime/sweep/sweep-round.ts'
import { aRun, aTask, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered } from '../../support/worlds/memory-system.ts'

const SHARDS = 4
const RUNNING = 10_000
const WAIT = 100 * SECOND

/** A row of equal tasks of one shard in one index. Each is made when it is read, so a hundred million take no memory. */
type Row = {
  readonly partition: string
  readonly name: string
  readonly count: number
  sortOf(nth: number): number | string
  head(nth: number, key: string): Task
}

/** A system with these rows of tasks next to those that are stored. Counts the entries and the heads that are read. */
function crowded(rows: readonly Row[]) {
  const system = aMemorySystem()
  const reads = { entries: 0, heads: 0 }
  const { page, heads } = system.tasks
  const crowd: MemorySystem = {
    ...system,
    tasks: {
      ...system.tasks,
      page: async query => {
        const of = rows.filter(row => row.partition === query.partition).map(row => pageOf(row, query))
        const found = merged([await page(query), ...of], query)
        reads.entries += found.entries.length
        return found
      },
      heads: async ids => {
        reads.heads += ids.length
        return [...(await heads(ids)), ...ids.flatMap(id => headIn(rows, id))]
      },
    },
  }
  return { system: crowd, reads }
}

function pageOf(row: Row, { from, to, after, limit, descending }: IndexQuery): IndexPage {
  if (descending) return { entries: [], more: false }
  const entry = (nth: number): IndexEntry => ({ id: idOf(row, nth), sort: row.sortOf(nth) })
  const isBefore = (nth: number) => {
    const { id, sort } = entry(nth)
    return (
      (from !== undefined && sort < from) || (after !== undefined && [sort, id] <= [after.sort, after.id])
    )
  }
  let [low, high] = [0, row.count]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  const nths = Array.from({ length: Math.min(limit + 1, row.count - low) }, (_, nth) => low + nth)
  const entries = nths.map(entry).filter(({ sort }) => to === undefined || sort <= to)
  return { entries: entries.slice(0, limit), more: entries.length > limit }
}

function merged(pages: readonly IndexPage[], { limit, descending }: IndexQuery): IndexPage {
  const entries = pages.flatMap(one => one.entries)
  entries.sort(
    (a, b) => (a.sort < b.sort || (a.sort === b.sort && a.id < b.id) ? -1 : 1) * (descending ? -1 : 1),
  )
  return { entries: entries.slice(0, limit), more: entries.length > limit || pages.some(({ more }) => more) }
}

function idOf({ name }: Row, nth: number): string {
  return `resize:${name}-${String(nth).padStart(9, '0')}`
}

function headIn(rows: readonly Row[], id: string): Task[] {
  const [, name, nth] = /^resize:(.*)-(\d{9})$/.exec(id) ?? []
  const row = rows.find(one => one.name === name)
  return row && nth ? [row.head(Number(nth), id.slice('resize:'.length))] : []
}

type Kind = { readonly kind?: TypeKind; readonly ordering?: Ordering }

/** Rows of tasks in each shard: `count` in all. */
function rowsOf(
  name: string,
  count: number,
  of: (shard: number) => Pick<Row, 'partition' | 'sortOf' | 'head'>,
): Row[] {
  return Array.from({ length: SHARDS }, (_, shard) => ({
    name: `${name}${shard}`,
    count: count / SHARDS,
    ...of(shard),
  }))
}

/** `count` tasks that wait for a message or a claim. The first fell due after the last one that has started. */
const waiting = (count: number, kind: Kind = {}) =>
  rowsOf('waits', count, shard => {
    const dueAt = (nth: number) => NOW - WAIT + Math.floor((nth * WAIT * SHARDS) / count)
    const head = (nth: number, key: string) =>
      aTask({ key, shard, dueAt: dueAt(nth), updatedAt: dueAt(nth), ...kind })
    return { partition: `resize#open#${shard}`, sortOf: dueAt, head }
  })

/** The tasks that run: they fell due before all that wait, and their leases are long. Each is in both indexes. */
function running(count: number, kind: Kind = {}): Row[] {
  const start = (nth: number) => NOW - 5 * SECOND - Math.floor((nth * 60 * SECOND * SHARDS) / count)
  const place = (nth: number, shard: number) => ({
    name: `running#resize#${shard}`,
    order: String(start(nth)),
  })
  const head = (shard: number) => (nth: number, key: string) =>
    aTask({
      ...{ key, shard, dueAt: start(nth) - WAIT, updatedAt: start(nth), place: place(nth, shard) },
      ...{ live: [aRun({ startedAt: start(nth), leaseUntil: NOW + 60 * MINUTE })], ...kind },
    })
  return rowsOf('runs', count, shard => ({
    partition: `resize#open#${shard}`,
    sortOf: nth => start(count / SHARDS - 1 - nth) - WAIT,
    head: head(shard),
  })).flatMap((row, shard) => [
    row,
    { ...row, partition: `running#resize#${shard}`, sortOf: nth => String(start(count / SHARDS - 1 - nth)) },
  ])
}

/** Stores a head as it is. */
async function put(system: MemorySystem, task: Task): Promise<Task> {
  await system.tasks.apply({ before: undefined, after: task, guard: { kind: 'absent' }, bodies: [] })
  return task
}

/** Stores the tasks that have ended last. They began after the usual wait, a moment ago. */
async function putEnded(system: MemorySystem): Promise<void> {
  for (let nth = 0; nth < 9; nth++) {
    const startedAt = NOW - 5 * SECOND
    const run = { fence: 1, workerId: 'w1', startedAt, endedAt: NOW, state: 'succeeded' as const }
    const parts = { key: `e${nth}`, dueAt: startedAt - WAIT, state: 'succeeded' as const, finishedAt: NOW }
    await put(system, aTask({ ...parts, ended: [run] }))
  }
}

async function aType(system: MemorySystem, kind: TypeKind = 'handler') {
  await registered(system, { configuration: { kind, defaults: {}, shards: SHARDS }, handlerSince: 0 })
  if (kind === 'handler') system.messages.backlogs.set('resize', 100_000)
}

/** A run that began a while ago, whose worker has died and whose look is lost. */
const dead = (key: string, parts: Parameters<typeof aTask>[0] = {}) => {
  const startedAt = NOW - 60 * SECOND
  const live = [aRun({ startedAt, leaseUntil: startedAt + 15 * SECOND })]
  return aTask({ key, shard: 2, dueAt: startedAt - WAIT, updatedAt: startedAt, live, ...parts })
}

const publishedAt = NOW - WAIT - 70 * SECOND
/** A task whose turn in the queue is over: its message is lost. */
const neverSent = aTask({ key: 'never-sent', shard: 1, dueAt: publishedAt, updatedAt: publishedAt })

const runningPlace = { name: 'running#resize#2', order: String(NOW - 60 * SECOND) }

/** The looks and dispatches of two rounds, a minute apart. */
async function sentInTwoRounds(system: MemorySystem): Promise<Set<string>> {
  const memory = createSweepMemory()
  memory.rounds.set('resize', { since: 0, last: NOW })
  await sweep(system, memory)
  await system.clock.advance(MINUTE)
  await sweep(system, memory)
  const { looks, dispatches } = system.messages
  return new Set([...looks.map(({ id }) => id), ...dispatches.map(({ task }) => task.id)])
}

const COUNTS = [20_000, 1_000_000, 100_000_000]

describe('among 10,000 running tasks, two rounds find what is lost, and nothing else,', () => {
  it.each(COUNTS)('while %d tasks wait in the queue', async count => {
    const { system } = crowded([...waiting(count), ...running(RUNNING)])
    await aType(system)
    await putEnded(system)
    const lost = [
      await put(system, dead('before-its-first-heartbeat')),
      await put(system, dead('after-heartbeats', { place: runningPlace })),
      await put(system, neverSent),
    ]

    const sent = await sentInTwoRounds(system)

    expect([...sent].sort()).toEqual(lost.map(({ id }) => id).sort())
  })

  it.each(COUNTS)('while %d tasks wait to be claimed over HTTP', async count => {
    const http = { kind: 'http', ordering: 'priority' } as const
    const inReady = rowsOf('waits', count, shard => {
      const [row] = waiting(count, http).slice(shard)
      if (!row) throw new RangeError('no such shard')
      return row
    })
    const { system } = crowded([...inReady, ...running(RUNNING, http)])
    await aType(system, 'http')
    const lost = await put(system, dead('claimed', { ...http, place: runningPlace }))

    const sent = await sentInTwoRounds(system)

    expect([...sent]).toEqual([lost.id])
  })

  it('while a million wait for a handler that is not deployed', async () => {
    const { system } = crowded([...waiting(1_000_000), ...running(RUNNING)])
    await aType(system)
    system.messages.backlogs.clear()
    const lost = await put(system, dead('after-heartbeats', { place: runningPlace }))

    const sent = await sentInTwoRounds(system)

    expect([...sent]).toEqual([lost.id])
  })
})

describe('a round costs the same', () => {
  it.each<[string, TypeKind, number]>([
    ['in a queue', 'handler', 100_000],
    ['in a queue whose messages are all lost', 'handler', 0],
    ['over HTTP', 'http', 0],
  ])('however many tasks wait %s', async (_name, kind, backlog) => {
    const costs = []
    for (const count of COUNTS) {
      const { system, reads } = crowded([...waiting(count, { kind }), ...running(RUNNING, { kind })])
      await aType(system, kind)
      if (kind === 'handler') system.messages.backlogs.set('resize', backlog)
      await putEnded(system)
      await sweep(system, createSweepMemory())
      costs.push(reads)
    }

    expect(costs[1]).toEqual(costs[0])
    expect(costs[2]).toEqual(costs[0])
    expect(costs[0]?.heads).toBeLessThanOrEqual(RUNNING + 6_000 + 600)
  })
})
