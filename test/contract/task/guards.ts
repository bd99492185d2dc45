import { beforeEach, expect, it } from 'vitest'
import type { Change } from '../../../shared/core/change.ts'
import { cancel, remove, restart } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { heartbeat, lose } from '../../../shared/core/run/lease.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskStore } from '../../../shared/ports/stores.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { aPublication, BORN, changeOf, DAY, LATER_BORN, NOW, SECOND } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'

/** Writes a change whose guard must hold, and returns the stored task. */
export async function written(tasks: TaskStore, change: Change): Promise<Task> {
  const { applied } = await tasks.apply(change)
  const stored = await readTask({ tasks }, change.after.id)
  if (!applied || !stored) throw new Error(`not applied on ${JSON.stringify(stored)}`)
  return stored
}

export const publish = (tasks: TaskStore, parts: Parameters<typeof aPublication>[0] = {}) =>
  written(tasks, create(aPublication(parts), undefined, NOW))

export const claimed = (tasks: TaskStore, task: Task, workerId = 'w1', now = NOW) =>
  written(tasks, changeOf(claim(task, { workerId, version: '1.2' }, now)))

const beat = (task: Task, fence: number, now: number) =>
  changeOf(heartbeat(task, { born: task.born, fence }, now))

const succeed = (task: Task, fence: number, now: number) =>
  changeOf(finish(task, { born: task.born, fence, outcome: 'succeed' }, now, 0))

export function guardsContract(makeStores: MakeStores): void {
  let tasks: Awaited<ReturnType<MakeStores>>['tasks']
  beforeEach(async () => {
    tasks = (await makeStores()).tasks
  })

  it('returns nothing for a key that was never published', async () => {
    expect(await readTask({ tasks }, 'resize:k1')).toBeUndefined()
  })

  it('creates a task under a free id, and reads it back whole', async () => {
    const change = create(aPublication({ input: { n: 1 } }), undefined, NOW)

    const applied = await tasks.apply(change)

    expect(applied).toEqual({ applied: true, head: change.after })
    expect(await readTask({ tasks }, 'resize:k1')).toEqual(change.after)
  })

  it('creates no task under a used id, and returns the stored one', async () => {
    const first = await publish(tasks)

    const applied = await tasks.apply(create(aPublication({ born: LATER_BORN }), undefined, NOW))

    expect(applied).toEqual({ applied: false, current: first })
  })

  it('refuses a write that was decided on an older revision, and returns the stored task', async () => {
    const seen = await publish(tasks)
    const patched = await written(tasks, changeOf(patch(seen, { priority: 5 }, NOW)))

    const applied = await tasks.apply(changeOf(claim(seen, { workerId: 'w1' }, NOW)))

    expect(applied).toEqual({ applied: false, current: patched })
  })

  it('refuses a write that was decided on another birth, even at the same revision', async () => {
    const seen = await publish(tasks)
    const other = { ...seen, born: LATER_BORN }

    const applied = await tasks.apply(changeOf(cancel(other, NOW)))

    expect(applied).toEqual({ applied: false, current: seen })
  })

  it('refuses to change a missing task', async () => {
    const { after } = create(aPublication(), undefined, NOW)

    expect(await tasks.apply(changeOf(cancel(after, NOW)))).toEqual({ applied: false, current: undefined })
    const claimedOnly = changeOf(claim(after, { workerId: 'w1' }, NOW)).after
    const beaten = await tasks.apply(beat(claimedOnly, 1, NOW))
    expect(beaten).toEqual({ applied: false, current: undefined })
  })

  it('accepts only one of several claims that were decided on one revision', async () => {
    const seen = await publish(tasks)

    const results = await Promise.all(
      ['w1', 'w2', 'w3'].map(workerId => tasks.apply(changeOf(claim(seen, { workerId }, NOW)))),
    )

    expect(results.filter(({ applied }) => applied)).toHaveLength(1)
    expect(Object.keys((await readTask({ tasks }, seen.id))?.live ?? {})).toEqual(['1'])
  })

  it('refuses to record a run as lost after a heartbeat that landed since the decision', async () => {
    const running = await claimed(tasks, await publish(tasks, { kind: 'http' }))
    const judgedAt = NOW + 20 * SECOND
    const judgement = changeOf(lose(running, judgedAt))
    const beaten = await written(tasks, beat(running, 1, judgedAt))

    const applied = await tasks.apply(judgement)

    expect(applied).toEqual({ applied: false, current: beaten })
    expect((await readTask({ tasks }, running.id))?.live[1]?.leaseUntil).toBe(judgedAt + 15 * SECOND)
  })

  it('refuses a takeover after a heartbeat that landed since the decision, and accepts one without a heartbeat', async () => {
    const running = await claimed(tasks, await publish(tasks))
    const late = NOW + 20 * SECOND

    const beaten = await written(tasks, beat(running, 1, late - SECOND))
    const tooLate = await tasks.apply(changeOf(claim(running, { workerId: 'w2' }, late)))
    const takenOver = await claimed(tasks, beaten, 'w2', late + DAY)

    expect(tooLate.applied).toBe(false)
    expect(takenOver.live).toMatchObject({ 2: { workerId: 'w2' } })
    expect(takenOver.ended).toMatchObject({ 1: { state: 'lost' } })
  })

  it('checks every lease that the guard names', async () => {
    const seen = await publish(tasks, { kind: 'http', options: { concurrency: 2 } })
    const both = await claimed(tasks, await claimed(tasks, seen, 'w1'), 'w2')
    await written(tasks, beat(both, 2, NOW + SECOND))

    const applied = await tasks.apply(changeOf(lose(both, NOW + 20 * SECOND)))

    expect(applied.applied).toBe(false)
  })

  it('accepts heartbeats and the finish of a run past its lease that is not recorded as lost', async () => {
    const running = await claimed(tasks, await publish(tasks))

    const beaten = await written(tasks, beat(running, 1, NOW + DAY))
    const done = await written(tasks, succeed(beaten, 1, NOW + 2 * DAY))

    expect(done.state).toBe('succeeded')
  })

  it('refuses the heartbeat of a run that is stored as ended', async () => {
    const running = await claimed(tasks, await publish(tasks, { kind: 'http' }))
    const cancelled = await written(tasks, changeOf(cancel(running, NOW)))

    const applied = await tasks.apply(beat(running, 1, NOW))

    expect(applied).toEqual({ applied: false, current: cancelled })
  })

  it('refuses the heartbeat of a run of another birth', async () => {
    const running = await claimed(tasks, await publish(tasks, { kind: 'http' }))
    const zombie = { ...running, born: LATER_BORN }

    expect((await tasks.apply(beat(zombie, 1, NOW))).applied).toBe(false)
  })

  it('accepts a heartbeat that was decided on any revision, and returns the stored task', async () => {
    const running = await claimed(tasks, await publish(tasks, { kind: 'http' }))
    const patched = await written(tasks, changeOf(patch(running, { options: { heartbeatMs: 1 } }, NOW)))

    const applied = await tasks.apply(beat(running, 1, NOW + SECOND))

    expect(applied).toMatchObject({
      applied: true,
      head: { revision: patched.revision, options: { heartbeatMs: 1 }, operation: 'beat' },
    })
    expect(applied.applied && applied.head).toEqual(await readTask({ tasks }, running.id))
  })

  it('accepts several successes that were decided on one revision', async () => {
    const seen = await publish(tasks, { kind: 'http', options: { concurrency: 3 } })
    const two = await claimed(tasks, await claimed(tasks, seen, 'w1'), 'w2')
    const first = succeed(two, 1, NOW + SECOND)
    const second = succeed(two, 2, NOW + SECOND)

    const applied = [await tasks.apply(first), await tasks.apply(second)]

    const head = await readTask({ tasks }, seen.id)
    expect(first.guard.kind).toBe('counted')
    expect(applied.map(one => one.applied && one.head.revision)).toEqual([two.revision + 1, two.revision + 2])
    expect(applied[1]).toEqual({ applied: true, head })
    expect(head).toMatchObject({ state: 'open', live: {}, operation: 'succeed', updatedAt: NOW + SECOND })
    expect(head?.ended).toMatchObject({ 1: { state: 'succeeded' }, 2: { state: 'succeeded' } })
  })

  it('keeps the changes of other writers when it counts a success, and refuses writes decided before the success', async () => {
    const seen = await publish(tasks, { kind: 'http', options: { concurrency: 4 } })
    const two = await claimed(tasks, await claimed(tasks, seen, 'w1'), 'w2')
    const success = succeed(two, 1, NOW + SECOND)

    await claimed(tasks, two, 'w3')
    const beaten = await written(tasks, beat(two, 2, NOW + SECOND))
    const after = await written(tasks, success)
    const decidedBefore = await tasks.apply(changeOf(patch(beaten, { priority: 1 }, NOW + SECOND)))

    expect(Object.keys(after.live)).toEqual(['2', '3'])
    expect(after.live[2]?.leaseUntil).toBe(beaten.live[2]?.leaseUntil)
    expect(after).toMatchObject({ fence: 3, revision: beaten.revision + 1 })
    expect(decidedBefore).toEqual({ applied: false, current: after })
  })

  it('refuses to count a success whose run has ended, also a repeated one, and returns the stored task', async () => {
    const seen = await publish(tasks, { kind: 'http', options: { concurrency: 3 } })
    const one = await claimed(tasks, seen, 'w1')
    const success = succeed(one, 1, NOW + SECOND)

    const counted = await written(tasks, success)
    const again = await tasks.apply(success)
    const zombie = await tasks.apply(succeed({ ...one, born: LATER_BORN }, 1, NOW))

    expect(again).toEqual({ applied: false, current: counted })
    expect(zombie.applied).toBe(false)
  })

  it('accepts the next claim after all runs of a task were counted', async () => {
    const seen = await publish(tasks, { kind: 'http', options: { concurrency: 2 } })
    const counted = await written(tasks, succeed(await claimed(tasks, seen, 'w1'), 1, NOW + SECOND))

    const running = await claimed(tasks, counted, 'w2', NOW + SECOND)
    const done = await written(tasks, succeed(running, 2, NOW + SECOND))

    expect(done).toMatchObject({ state: 'succeeded', live: {} })
    expect(Object.keys(done.ended)).toEqual(['1', '2'])
  })

  it('keeps a tombstone, and accepts only a new birth that was decided on it', async () => {
    const first = await claimed(tasks, await publish(tasks, { kind: 'http', userId: 'u1' }))
    const tombstone = await written(tasks, remove(first, NOW))

    const zombieBeat = await tasks.apply(beat(first, 1, NOW))
    const zombieFinish = await tasks.apply(succeed(first, 1, NOW))
    const blind = await tasks.apply(create(aPublication({ born: LATER_BORN }), undefined, NOW))
    const reborn = await written(tasks, create(aPublication({ born: LATER_BORN }), tombstone, NOW))

    expect(tombstone).toMatchObject({ state: 'removed', live: {}, fence: 1 })
    expect([zombieBeat, zombieFinish, blind].map(({ applied }) => applied)).toEqual([false, false, false])
    expect(reborn).toMatchObject({ born: LATER_BORN, state: 'open', fence: 1 })
    expect(reborn).not.toHaveProperty('expiresAt')
    expect((await tasks.apply(succeed(first, 1, NOW))).applied).toBe(false)
  })

  it('reads a task whose retention has ended', async () => {
    const running = await claimed(tasks, await publish(tasks, { options: { retentionMs: 1 } }))

    const done = await written(tasks, succeed(running, 1, NOW))

    expect(done.expiresAt).toBe(NOW + 1)
    expect(await readTask({ tasks }, done.id)).toEqual(done)
  })

  it('keeps successes over a restart', async () => {
    const seen = await publish(tasks, { options: { concurrency: 2, retry: { maxRetries: 0 } } })
    const half = await written(tasks, succeed(await claimed(tasks, seen), 1, NOW))
    const cancelled = await written(tasks, changeOf(cancel(half, NOW)))
    const publication = aPublication({ born: LATER_BORN, options: { concurrency: 2 } })

    const again = await written(
      tasks,
      changeOf(restart(cancelled, { publication, clean: ['failed'], keepInput: true }, NOW)),
    )

    expect(half.born).toBe(BORN)
    expect(again).toMatchObject({ born: LATER_BORN, state: 'open', ended: { 1: { state: 'succeeded' } } })
  })
}
