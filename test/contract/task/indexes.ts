import { expect, it } from 'vitest'
import { cancel, remove } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { heartbeat } from '../../../shared/core/run/lease.ts'
import type { IndexEntry, IndexQuery, IndexRange, TaskStore } from '../../../shared/ports/stores.ts'
import { readTask, readTasks } from '../../../shared/runtime/kernel/heads.ts'
import { changeOf, HOUR, NOW, SECOND } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'
import { claimed, publish, written } from './guards.ts'

const OPEN = { index: 'view', partition: 'resize#open#0' } as const

/** The entries on all pages of a query. */
async function allPages(tasks: TaskStore, query: IndexQuery): Promise<IndexEntry[]> {
  const entries: IndexEntry[] = []
  let after = query.after
  for (;;) {
    const page = await tasks.page({ ...query, ...(after && { after }) })
    entries.push(...page.entries)
    after = page.entries.at(-1) ?? after
    if (!page.more) return entries
  }
}

const sortsOf = (entries: readonly IndexEntry[]) => entries.map(({ sort }) => Number(sort) - NOW)

export function indexesContract(makeStores: MakeStores): void {
  /** Stores with one task due at NOW plus each offset. */
  const withTasksDue = async (...offsets: number[]) => {
    const stores = await makeStores()
    await Promise.all(
      offsets.map((offset, position) =>
        publish(stores.tasks, { key: `k${position}`, dueAt: NOW + offset, userId: 'u1' }),
      ),
    )
    return stores
  }
  const idsIn = async (tasks: TaskStore, index: IndexRange['index'], partition: string) =>
    (await tasks.page({ index, partition, limit: 10 })).entries.map(({ id }) => id)

  it('orders the open tasks of a type by due time, forward and backward', async () => {
    const { tasks } = await withTasksDue(30, 10, 20)

    const forward = await tasks.page({ ...OPEN, limit: 10 })
    const backward = await tasks.page({ ...OPEN, limit: 10, descending: true })

    expect(sortsOf(forward.entries)).toEqual([10, 20, 30])
    expect(forward).toMatchObject({ more: false, entries: [{ id: 'resize:k1' }, {}, {}] })
    expect(sortsOf(backward.entries)).toEqual([30, 20, 10])
  })

  it('pages without loss or repetition, also through entries of the same time', async () => {
    const { tasks } = await withTasksDue(1, 2, 2, 2, 2, 3, 3, 4)

    const forward = await allPages(tasks, { ...OPEN, limit: 3 })
    const backward = await allPages(tasks, { ...OPEN, limit: 3, descending: true })

    expect(sortsOf(forward)).toEqual([1, 2, 2, 2, 2, 3, 3, 4])
    expect(new Set(forward.map(({ id }) => id)).size).toBe(8)
    expect(sortsOf(backward)).toEqual([4, 3, 3, 2, 2, 2, 2, 1])
    expect(new Set(backward.map(({ id }) => id)).size).toBe(8)
  })

  it('says that there are more entries when a page does not end the range', async () => {
    const { tasks } = await withTasksDue(1, 2, 3)

    expect((await tasks.page({ ...OPEN, limit: 2 })).more).toBe(true)
  })

  it('continues after an entry that is gone', async () => {
    const { tasks } = await withTasksDue(1, 2, 3)
    const second = (await readTask({ tasks }, 'resize:k1'))!
    await written(tasks, changeOf(cancel(second, NOW)))

    const page = await tasks.page({ ...OPEN, limit: 10, after: { id: second.id, sort: second.dueAt } })

    expect(sortsOf(page.entries)).toEqual([3])
  })

  it.each([
    ['both bounds, inclusive', { from: NOW + 2, to: NOW + 3 }, [2, 3]],
    ['a lower bound', { from: NOW + 3 }, [3, 4]],
    ['an upper bound', { to: NOW + 2 }, [1, 2]],
    ['bounds between entries', { from: NOW + 2.5, to: NOW + 2.6 }, []],
    ['bounds in the wrong order', { from: NOW + 3, to: NOW + 2 }, []],
  ])('finds and counts the entries within %s', async (_name, bounds, expected) => {
    const { tasks } = await withTasksDue(1, 2, 3, 4)

    const found = await allPages(tasks, { ...OPEN, ...bounds, limit: 2 })

    expect(sortsOf(found)).toEqual(expected)
    expect(await tasks.count({ ...OPEN, ...bounds })).toBe(expected.length)
  })

  it.each([
    ['before the range', false, 1, [2, 3]],
    ['behind the range', false, 4, []],
    ['within the range', false, 2, [3]],
    ['behind the range, backward', true, 4, [3, 2]],
    ['before the range, backward', true, 1, []],
    ['within the range, backward', true, 3, [2]],
  ])('continues after an entry %s', async (_name, descending, offset, expected) => {
    const { tasks } = await withTasksDue(1, 2, 3, 4)
    const after = { id: `resize:k${offset - 1}`, sort: NOW + offset }

    const page = await tasks.page({ ...OPEN, from: NOW + 2, to: NOW + 3, limit: 10, descending, after })

    expect(sortsOf(page.entries)).toEqual(expected)
  })

  it('finds nothing in an empty partition', async () => {
    const { tasks } = await makeStores()

    expect(await tasks.page({ ...OPEN, limit: 5 })).toEqual({ entries: [], more: false })
    expect(await tasks.count(OPEN)).toBe(0)
  })

  it('moves an ended task to its bucket, sorted by its end', async () => {
    const { tasks } = await makeStores()
    const running = await claimed(tasks, await publish(tasks))
    const word = { born: running.born, fence: 1, outcome: 'succeed' as const }

    await written(tasks, changeOf(finish(running, word, NOW + 7, 0)))

    expect(await tasks.count(OPEN)).toBe(0)
    const done = await tasks.page({ index: 'view', partition: 'resize#succeeded#0', limit: 5 })
    expect(done.entries).toEqual([{ id: 'resize:k1', sort: NOW + 7 }])
  })

  it('keeps the open and the ended tasks of a user by creation, and no removed ones', async () => {
    const { tasks } = await withTasksDue(9, 5)
    await publish(tasks, { key: 'others', userId: 'u2' })
    const [first, second] = [
      (await readTask({ tasks }, 'resize:k0'))!,
      (await readTask({ tasks }, 'resize:k1'))!,
    ]

    await written(tasks, changeOf(cancel(first, NOW)))
    await written(tasks, remove(second, NOW))

    const page = await tasks.page({ index: 'owner', partition: 'user#u1', limit: 5 })
    expect(page.entries).toEqual([{ id: 'resize:k0', sort: NOW }])
  })

  it('keeps a removed task in no index at all', async () => {
    const { tasks } = await makeStores()
    const task = await publish(tasks, { kind: 'http', userId: 'u1' })

    await written(tasks, remove(task, NOW))

    expect(await tasks.count(OPEN)).toBe(0)
    expect(await tasks.count({ index: 'place', partition: 'ready#resize#0' })).toBe(0)
    expect(await tasks.count({ index: 'owner', partition: 'user#u1' })).toBe(0)
  })

  it('keeps a task in one place at a time', async () => {
    const { tasks } = await makeStores()
    const places = async () => ({
      ready: await idsIn(tasks, 'place', 'ready#resize#0'),
      running: await idsIn(tasks, 'place', 'running#resize#0'),
    })

    const far = await publish(tasks, { kind: 'http', dueAt: NOW + HOUR })
    const whenFar = { ...(await places()), minute: await idsIn(tasks, 'place', far.place?.name ?? '') }
    const near = await written(tasks, changeOf(patch(far, { dueAt: NOW }, NOW)))
    const whenReady = await places()
    await written(tasks, changeOf(claim(near, { workerId: 'w1' }, NOW)))
    const whenRunning = { ...(await places()), minute: await idsIn(tasks, 'place', far.place?.name ?? '') }

    expect(whenFar).toEqual({ ready: [], running: [], minute: ['resize:k1'] })
    expect(whenReady).toEqual({ ready: ['resize:k1'], running: [] })
    expect(whenRunning).toEqual({ ready: [], running: ['resize:k1'], minute: [] })
  })

  it('puts the task of a handler into the running place with its first heartbeat', async () => {
    const { tasks } = await makeStores()
    const running = await claimed(tasks, await publish(tasks))
    const RUNNING = { index: 'place', partition: 'running#resize#0' } as const

    const before = await tasks.count(RUNNING)
    await written(tasks, changeOf(heartbeat(running, { born: running.born, fence: 1 }, NOW + SECOND)))

    expect(before).toBe(0)
    expect(await tasks.count(RUNNING)).toBe(1)
  })

  it('reads many heads at once, each of them once, and leaves out missing ones', async () => {
    const { tasks } = await makeStores()
    const ids = Array.from({ length: 250 }, (_, position) => `resize:k${position}`)
    await Promise.all(ids.filter((_, i) => i % 50 !== 0).map(id => publish(tasks, { key: id.slice(7) })))

    const heads = await readTasks({ tasks }, [...ids, ...ids.toReversed()])

    expect(heads).toHaveLength(245)
    expect(new Set(heads.map(({ id }) => id)).size).toBe(245)
    expect(await readTasks({ tasks }, [])).toEqual([])
  })
}
