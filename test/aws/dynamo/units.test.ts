import { beforeEach, describe, expect, it } from 'vitest'
import type { Change } from '../../../shared/core/change.ts'
import { joinLine } from '../../../shared/core/limits/limits.ts'
import { cancel, remove } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { endOfComplete, finish, isComplete } from '../../../shared/core/run/finish.ts'
import { heartbeat } from '../../../shared/core/run/lease.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { Worker } from '../../../shared/core/worker.ts'
import type { DynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { aMeteredDynamo } from '../../support/dynamo/metered-dynamo.ts'
import { totalOf, type Units } from '../../support/dynamo/unit-meter.ts'
import {
  aPublication,
  aType,
  BORN,
  changeOf,
  HOUR,
  LATER_BORN,
  SECOND,
  taskIn,
} from '../../support/tasks/a-task.ts'

/** The costs are from docs/data-model.md. */

/** A time at which fences have nine digits, as from 2029 to 2057. Heads keep several fences. */
const NOW = Date.UTC(2034, 0, 1, 12)

const dynamo = aMeteredDynamo()
let stores: DynamoStores

beforeEach(async () => {
  stores = await dynamo.newStores()
})

type Parts = Parameters<typeof aPublication>[0]

const KEY = 'k'.repeat(40 - 'resize:'.length)
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const SMALL = 'x'.repeat(198)
const HALF_KB = 'x'.repeat(510)
const FIFTY_KB = 'x'.repeat(50 * 1024 - 2)
/** Everything that users may set on a task besides its options. */
const METADATA: Parts = {
  userId: '6f1a52f4-3a0e-4a5c-9d43-c6b1f0a7d2e1',
  tags: { team: 'pictures', release: '2026-01', source: 'upload' },
  priority: 7,
}

const ERROR = { name: 'TypeError', message: 'x is not a function', stack: 'at x'.repeat(100) }
const MARKER = { workerId: 'w1', taskId: `resize:${KEY}`, born: BORN, revision: 1 }
const WORKER: Worker = { workerId: 'w1', kind: 'http', types: ['resize'], startedAt: NOW, lastSeen: NOW }

/** Writes a change and answers its cost. */
async function cost(change: Change<Task>): Promise<Units> {
  dynamo.take()
  const { applied } = await stores.tasks.apply(change)
  expect(applied).toBe(true)
  return dynamo.take()
}

const publication = (parts: Parts = {}): Change<Task> =>
  create(aPublication({ key: KEY, traceparent: TRACE, dueAt: NOW, ...parts }), undefined, NOW)

/** A task that was published and claimed. */
async function claimed(parts: Parts = {}): Promise<Task> {
  const published = publication(parts)
  const { after } = claimOf(published.after)
  for (const change of [published, claimOf(published.after)]) await cost(change)
  return after
}

const claimOf = (task: Task) => changeOf(claim(task, { workerId: 'resize-4f0c2a7e91d3' }, NOW + 1))
const beatOf = (task: Task, second = 2) =>
  changeOf(heartbeat(task, { born: BORN, fence: task.fence }, NOW + second * SECOND))
const endOf = (task: Task, outcome: Outcome) =>
  changeOf(finish(task, { born: BORN, fence: task.fence, ...outcome }, NOW + 9 * SECOND, 0))

/** Publish, claim, succeed: the cost of each. */
async function lifeOf(
  parts: Parts,
  result?: string,
): Promise<Record<'publish' | 'claim' | 'succeed', Units>> {
  const published = publication(parts)
  const claimed = claimOf(published.after)
  const outcome = { outcome: 'succeed', ...(result !== undefined && { result }) } as const
  return {
    publish: await cost(published),
    claim: await cost(claimed),
    succeed: await cost(endOf(claimed.after, outcome)),
  }
}

describe('a plain task', () => {
  it.each([
    ['without input', {}, undefined],
    ['with input and result kept in its head', { input: SMALL }, SMALL],
  ])('costs exactly 6 write units, %s', async (_name, parts, result) => {
    const life = await lifeOf(parts, result)

    expect(life).toEqual({
      publish: { table: 1, view: 1 },
      claim: { table: 1 },
      succeed: { table: 1, view: 2 },
    })
    expect(
      Object.values(life)
        .map(totalOf)
        .reduce((a, b) => a + b),
    ).toBe(6)
  })

  it('costs one unit more with a user, and nothing more with other metadata', async () => {
    expect(await lifeOf({ ...METADATA, input: SMALL })).toEqual({
      publish: { table: 1, view: 1, owner: 1 },
      claim: { table: 1 },
      succeed: { table: 1, view: 2 },
    })
  })

  it('of an HTTP type pays for its places: ready, running, none', async () => {
    expect(await lifeOf({ kind: 'http', ordering: 'priority' })).toEqual({
      publish: { table: 1, view: 1, place: 1 },
      claim: { table: 1, place: 2 },
      succeed: { table: 1, view: 2, place: 1 },
    })
  })

  it('that is due in more than 15 minutes pays for its place in the minute', async () => {
    const published = publication({ dueAt: NOW + HOUR })
    const due = claim(published.after, { workerId: 'w1' }, NOW + HOUR)

    expect(await cost(published)).toEqual({ table: 1, view: 1, place: 1 })
    expect(await cost(changeOf(due))).toEqual({ table: 1, place: 1 })
  })

  it('that fails and is retried moves in the view each time, and leaves a record of the run', async () => {
    const task = await claimed()

    expect(await cost(endOf(task, { outcome: 'fail', error: ERROR }))).toEqual({ table: 2, view: 2 })
  })

  it('that fails with a full log and five causes pays at most six units more, all of them for the record of its run', async () => {
    const causes = Array.from({ length: 5 }, () => ({ name: 'Error', message: 'c'.repeat(100) }))
    const costs = []
    for (const [nth, more] of [{}, { log: 'x'.repeat(4_096), error: { ...ERROR, causes } }].entries()) {
      const task = await claimed({ key: `k${nth}` })
      costs.push(await cost(endOf(task, { outcome: 'fail', error: ERROR, ...more })))
    }

    expect(costs).toEqual([
      { table: 2, view: 2 },
      { table: 7, view: 2 },
    ])
  })

  it('is cancelled for 3 units, removed for 2, patched for 1', async () => {
    const published = publication()
    await cost(published)

    const patched = changeOf(patch(published.after, { priority: 3 }, NOW))
    expect(await cost(patched)).toEqual({ table: 1 })
    const cancelled = changeOf(cancel(patched.after, NOW + 1))
    expect(await cost(cancelled)).toEqual({ table: 1, view: 2 })
    expect(await cost(remove(cancelled.after, NOW + 2))).toEqual({ table: 1, view: 1 })
  })

  it('pays for each index entry that a patch moves, a removal deletes, or a new birth over the tombstone adds', async () => {
    const published = publication({ ...METADATA, kind: 'http', ordering: 'priority' })
    await cost(published)

    const moved = changeOf(patch(published.after, { dueAt: NOW - 1 }, NOW))
    expect(await cost(moved)).toEqual({ table: 1, view: 2, place: 2 })
    const removed = remove(moved.after, NOW)
    expect(await cost(removed)).toEqual({ table: 1, view: 1, place: 1, owner: 1 })
    const again = aPublication({ ...METADATA, key: KEY, born: LATER_BORN })
    expect(await cost(create(again, removed.after, NOW))).toEqual({ table: 1, view: 1, owner: 1 })
  })
})

describe('heartbeats', () => {
  it('cost 1 unit, the first of a handler’s run 1 more for its place', async () => {
    const first = beatOf(await claimed({ input: SMALL }))

    expect(await cost(first)).toEqual({ table: 1, place: 1 })
    expect(await cost(beatOf(first.after, 7))).toEqual({ table: 1 })
    expect(await cost(beatOf(first.after, 12))).toEqual({ table: 1 })
  })

  it('of an HTTP type cost 1 unit from the first', async () => {
    const task = await claimed({ kind: 'http', ordering: 'priority', ...METADATA })

    expect(await cost(beatOf(task))).toEqual({ table: 1 })
  })
})

describe('a chain of looks', () => {
  it('costs 1 unit when it records itself, and makes no later write of the head larger', async () => {
    const task = await claimed({ ...METADATA, input: SMALL })
    dynamo.take()
    const record = { hops: 99_993, name: '5fea7756', until: NOW + HOUR }
    expect(await stores.tasks.recordLook(task, record, NOW)).toBe(true)

    expect(dynamo.take()).toEqual({ table: 1 })
    expect((await cost(endOf(task, { outcome: 'succeed', result: SMALL }))).table).toBe(1)
  })
})

describe('a task in the line of a limit', () => {
  it('costs 2 units to join and 1 more to leave it with its claim, whatever it waits for', async () => {
    for (const kind of ['slot', 'permit'] as const) {
      const published = publication({ key: kind })
      await cost(published)
      const waiting = changeOf(joinLine(published.after, { kind, limit: 'resize' }, NOW))

      expect(await cost(waiting)).toEqual({ table: 1, place: 1 })
      expect(await cost(claimOf(waiting.after))).toEqual({ table: 1, place: 1 })
    }
  })
})

describe('a task of many workers', () => {
  /** The task as all workers have claimed it, written at once. */
  async function crowded(workers: number): Promise<Task> {
    const published = publication({ kind: 'http', options: { concurrency: workers } })
    let { after } = published
    for (let nth = 0; nth < workers; nth++)
      after = changeOf(claim(after, { workerId: `resize-4f0c2a7e${1_000 + nth}` }, NOW + 1)).after
    await cost({ ...published, after })
    return (await stores.tasks.head(after.id)) as Task
  }

  it('pays for the size of its head with each write: 7 units with 100 live runs, 9 with 100 successes', async () => {
    const task = await crowded(100)
    const success = (fence: number, seen: Task = task) =>
      changeOf(finish(seen, { born: BORN, fence, outcome: 'succeed', result: 1 }, NOW + SECOND, 0))

    const [one = 0, ...others] = Object.keys(task.live).map(Number)
    const beat = await cost(changeOf(heartbeat(task, { born: BORN, fence: one }, NOW + SECOND)))
    const first = await cost(success(one))
    for (const fence of others.slice(0, -1)) await stores.tasks.apply(success(fence))
    const last = await cost(success(others.at(-1) ?? 0))
    const complete = (await stores.tasks.head(task.id)) as Task
    const end = await cost(endOfComplete(complete) as Change<Task>)

    expect({ beat, first, last, end }).toEqual({
      beat: { table: 7 },
      first: { table: 7 },
      last: { table: 9 },
      end: { table: 9, view: 2, place: 1 },
    })
  })

  it('writes 30 counted successes where 29 of 30 writes of one revision would fail', async () => {
    const task = await crowded(30)
    const seen = Object.keys(task.live).map(Number)

    const applied = await Promise.all(
      seen.map(fence =>
        stores.tasks.apply(
          changeOf(finish(task, { born: BORN, fence, outcome: 'succeed' }, NOW + SECOND, 0)),
        ),
      ),
    )

    expect(applied.every(one => one.applied)).toBe(true)
    const complete = applied.filter(one => one.applied && isComplete(taskIn(one)))
    expect(complete).toHaveLength(1)
  })
})

describe('a large input', () => {
  it.each([
    ['plain', {}],
    ['with all metadata', METADATA],
  ])(
    'is paid for only at its publish: claim, heartbeat and finish cost the same with 0.5 KB and 50 KB (%s)',
    async (_name, parts) => {
      const costs = []
      for (const [key, input] of [
        [`a${KEY.slice(1)}`, HALF_KB],
        [`b${KEY.slice(1)}`, FIFTY_KB],
      ] as const) {
        const published = publication({ ...parts, key, input })
        const claimed = claimOf(published.after)
        const beaten = beatOf(claimed.after)
        await cost(published)
        costs.push({
          claim: await cost(claimed),
          firstBeat: await cost(beaten),
          beat: await cost(beatOf(beaten.after, 7)),
          finish: await cost(endOf(beaten.after, { outcome: 'succeed' })),
        })
      }

      expect(costs[0]).toEqual({
        claim: { table: 1 },
        firstBeat: { table: 1, place: 1 },
        beat: { table: 1 },
        finish: { table: 1, view: 2, place: 1 },
      })
      expect(costs[1]).toEqual(costs[0])
    },
  )

  it('costs its own size once more, and nothing in the indexes', async () => {
    const published = publication({ input: FIFTY_KB })
    const claimed = claimOf(published.after)

    expect(await cost(published)).toEqual({ table: 1 + 51, view: 1 })
    await cost(claimed)
    const outcome = { outcome: 'succeed', result: FIFTY_KB } as const
    expect(await cost(endOf(claimed.after, outcome))).toEqual({ table: 1 + 51, view: 2 })
  })
})

describe('requests', () => {
  const units = async (reading: Promise<unknown>) => {
    dynamo.take()
    await reading
    return dynamo.take()
  }

  it('that read cost the units that docs/data-model.md states', async () => {
    const { tasks, types, records, targets, workers } = stores
    const task = await claimed({ userId: 'u1', input: FIFTY_KB })
    const failed = endOf(task, { outcome: 'fail', error: { name: 'E', message: 'no' } })
    await cost(failed)
    const { id, input } = failed.after
    const ref = input && 'ref' in input ? input.ref : ''
    await types.put(aType(), 0)
    await records.put('r', 1, NOW + HOUR)
    await targets.mark(MARKER)
    await workers.announce(WORKER)
    const view = { index: 'view', partition: 'resize#open#0' } as const

    expect(await units(tasks.head(id))).toEqual({ table: 1 })
    expect(await units(tasks.heads([id]))).toEqual({ table: 0.5 })
    expect(await units(tasks.body(id, ref))).toEqual({ table: 13 })
    expect(await units(tasks.page({ ...view, limit: 10 }))).toEqual({ table: 0, view: 0.5 })
    expect(await units(tasks.count(view))).toEqual({ table: 0, view: 0.5 })
    expect(await units(tasks.runRecords(id, BORN, 20))).toEqual({ table: 1 })
    expect(await units(types.get('resize'))).toEqual({ table: 1 })
    expect(await units(types.list())).toEqual({ table: 1 })
    expect(await units(records.get('r'))).toEqual({ table: 1 })
    expect(await units(targets.of('w1', { limit: 100 }))).toEqual({ table: 1 })
    expect(await units(targets.among([MARKER]))).toEqual({ table: 0.5 })
    expect(await units(workers.get('w1'))).toEqual({ table: 1 })
    expect(await units(workers.list())).toEqual({ table: 1 })
  })

  it('that write small items next to heads cost 1 unit', async () => {
    const { types, records, targets, workers } = stores

    expect(await units(types.put(aType(), 0))).toEqual({ table: 1 })
    expect(await units(records.put('r', 1, NOW + HOUR))).toEqual({ table: 1 })
    expect(await units(targets.mark(MARKER))).toEqual({ table: 1 })
    expect(await units(targets.clear(MARKER))).toEqual({ table: 1 })
    expect(await units(workers.announce(WORKER))).toEqual({ table: 1 })
  })

  it('of a worker that leaves cost 1 unit to remove it, and 1 to keep it for a day', async () => {
    await stores.workers.announce(WORKER)

    expect(await units(stores.workers.leave(WORKER))).toEqual({ table: 2 })
  })
})
