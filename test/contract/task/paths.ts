import { expect, it } from 'vitest'
import { cancel } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { heartbeat } from '../../../shared/core/run/lease.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { aPublication, changeOf, HOUR, NOW, SECOND } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'
import { claimed, publish, written } from './guards.ts'

const LATER = NOW + 5 * SECOND
const RENEWED = LATER + 15 * SECOND

const beat = (task: Task, fence: number, progress?: string) =>
  changeOf(heartbeat(task, { born: task.born, fence, ...(progress && { progress }) }, LATER))

const failure = (task: Task, fence: number) =>
  changeOf(
    finish(task, { born: task.born, fence, outcome: 'fail', error: { name: 'E', message: 'no' } }, LATER, 0),
  )

export function pathsContract(makeStores: MakeStores): void {
  const twoRuns = async (parts: Parameters<typeof aPublication>[0] = { kind: 'http' }) => {
    const stores = await makeStores()
    const seen = await publish(stores.tasks, { ...parts, options: { concurrency: 3, ...parts?.options } })
    const one = await claimed(stores.tasks, seen, 'w1')
    return { ...stores, seen: await claimed(stores.tasks, one, 'w2') }
  }

  it.each([
    ['a patch', (task: Task) => changeOf(patch(task, { priority: 9 }, LATER))],
    ['the claim of another worker', (task: Task) => changeOf(claim(task, { workerId: 'w3' }, LATER))],
    ['the failure of another run', (task: Task) => failure(task, 2)],
  ])('keeps a heartbeat that lands between the decision and the write of %s', async (_name, decide) => {
    const { tasks, seen } = await twoRuns()
    const change = decide(seen)

    await written(tasks, beat(seen, 1, 'half'))
    const after = await written(tasks, change)

    expect(after.revision).toBe(seen.revision + 1)
    expect(after.live[1]).toMatchObject({ leaseUntil: RENEWED, progress: 'half' })
  })

  it('keeps a change that lands between the decision and the write of a heartbeat', async () => {
    const { tasks, seen } = await twoRuns()
    const change = beat(seen, 1)

    await written(tasks, failure(seen, 2))
    const after = await written(tasks, change)

    expect(after.ended).toMatchObject({ 2: { state: 'failed' } })
    expect(Object.keys(after.live)).toEqual(['1'])
    expect(after.live[1]?.leaseUntil).toBe(RENEWED)
  })

  it('returns the progress that another heartbeat stored, also to a late first heartbeat that enters the running place', async () => {
    const { tasks } = await makeStores()
    const seen = await claimed(tasks, await publish(tasks), 'w1')
    const late = beat(seen, 1)
    await written(tasks, beat(seen, 1, 'half'))

    const applied = await tasks.apply(late)

    expect(applied).toMatchObject({ applied: true, head: { live: { 1: { progress: 'half' } } } })
    expect(applied).toEqual({ applied: true, head: await tasks.head(seen.id) })
  })

  it('keeps the stored progress when a heartbeat lands that was decided before it', async () => {
    const { tasks, seen } = await twoRuns()

    await written(tasks, beat(seen, 1, 'half'))
    const after = await written(tasks, beat(seen, 1))

    expect(after.live[1]?.progress).toBe('half')
  })

  it('stores the operation of a change although a heartbeat landed since the decision', async () => {
    const { tasks, seen } = await twoRuns()
    const change = changeOf(claim(seen, { workerId: 'w3' }, LATER))

    await written(tasks, beat(seen, 1))
    const after = await written(tasks, change)

    expect(seen.operation).toBe('claim')
    expect(after.operation).toBe('claim')
  })

  it('leaves the running place with a task whose end was decided before its first heartbeat', async () => {
    const { tasks } = await makeStores()
    const running = await claimed(tasks, await publish(tasks))
    const end = changeOf(cancel(running, LATER))

    const beaten = await written(tasks, beat(running, 1))
    const after = await written(tasks, end)

    expect(beaten.place?.name).toBe('running#resize#0')
    expect(after).not.toHaveProperty('place')
    expect(await tasks.count({ index: 'place', partition: 'running#resize#0' })).toBe(0)
  })

  it('does not enter the running place when the task has moved on', async () => {
    const { tasks } = await makeStores()
    const running = await claimed(tasks, await publish(tasks, { options: { concurrency: 2 } }))
    const firstBeat = beat(running, 1)
    const far = await written(tasks, changeOf(patch(running, { dueAt: NOW + 3_600 * SECOND }, NOW)))

    const applied = await tasks.apply(firstBeat)

    expect(far.place?.name).toMatch(/^minute#/)
    expect(applied).toEqual({ applied: false, current: far })
  })

  it('counts failures by worker, whatever the name of the worker', async () => {
    const { tasks } = await makeStores()
    const options = { concurrency: 3, retry: { scope: 'worker' as const, delayMs: 0 } }
    let task = await publish(tasks, { options })
    for (const workerId of ['constructor', '__proto__', 'a.b#c:d', '工人 👷']) {
      task = await claimed(tasks, task, workerId, LATER)
      task = await written(tasks, failure(task, task.fence))
    }

    expect(task.failures).toBe(4)
    expect(Object.entries(task.failuresBy).sort()).toEqual(
      [
        ['constructor', 1],
        ['__proto__', 1],
        ['a.b#c:d', 1],
        ['工人 👷', 1],
      ].sort(),
    )
  })

  it('keeps the retries of single workers until they are due, whatever the name of the worker', async () => {
    const { tasks } = await makeStores()
    const options = { concurrency: 3, retry: { scope: 'worker' as const, delayMs: SECOND } }
    let task = await publish(tasks, { options })
    for (const workerId of ['constructor', '__proto__']) {
      task = await claimed(tasks, task, workerId, NOW)
      task = await written(tasks, failure(task, task.fence))
    }

    const stored = await tasks.head(task.id)
    const later = await claimed(tasks, task, 'constructor', NOW + HOUR)

    expect(Object.entries((stored as Task).retryAtBy).sort()).toEqual(Object.entries(task.retryAtBy).sort())
    expect(Object.keys(task.retryAtBy).sort()).toEqual(['__proto__', 'constructor'])
    expect(await tasks.head(task.id)).toEqual(later)
    expect(later.retryAtBy).toEqual({})
  })

  it('keeps every member of a task that has all of them', async () => {
    const { tasks } = await makeStores()
    const publication = aPublication({
      key: 'a/b#c%d e:f',
      kind: 'webhook',
      ordering: 'aged',
      priority: -3,
      shard: 63,
      userId: 'ü#1',
      tags: { ['__proto__']: 'yes', constructor: 'yes', '': '', a: '' },
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      input: { '': [] },
      options: {
        concurrency: 2,
        workerIds: ['w1', 'w2'],
        minWorkerVersion: '1.2',
        timeoutMs: 60_000,
        deadlineMs: 600_000,
        retentionMs: 1,
        retry: { backoff: 'ladder', delaysMs: [1, 2.5], jitter: 1e-200, scope: 'worker' },
      },
    })
    const running = await claimed(tasks, await publish(tasks, publication), 'w1')
    const beaten = await written(tasks, beat(running, 1, 'p'))
    const change = failure(await claimed(tasks, beaten, 'w2', LATER), 2)

    const after = await written(tasks, change)

    expect(after).toEqual(change.after)
    expect(await tasks.heads([after.id])).toEqual([after])
    expect(after.live[1]).toMatchObject({ timeoutAt: NOW + 60_000, progress: 'p' })
  })
}
