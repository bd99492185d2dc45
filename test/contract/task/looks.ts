import { expect, it } from 'vitest'
import { patch } from '../../../shared/core/operate/patch.ts'
import { heartbeat } from '../../../shared/core/run/lease.ts'
import { changeOf, LATER_BORN, NOW, SECOND } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'
import { claimed, publish, written } from './guards.ts'

const UNTIL = NOW + 160 * SECOND
const chain = (name: string, hops: number, until = UNTIL) => ({ name, hops, until })

export function looksContract(makeStores: MakeStores): void {
  it('records the chain that has come farthest, and none that has come as far or less', async () => {
    const { tasks } = await makeStores()
    const task = await claimed(tasks, await publish(tasks))

    const recorded = [
      await tasks.recordLook(task, chain('a', 1), NOW),
      await tasks.recordLook(task, chain('b', 1), NOW),
      await tasks.recordLook(task, chain('a2', 9), NOW + SECOND),
      await tasks.recordLook(task, chain('b2', 1), NOW + SECOND),
      await tasks.recordLook(task, chain('c', 17), NOW + SECOND),
    ]

    expect(recorded).toEqual([true, false, true, false, true])
  })

  it('records only one of many chains that come at once', async () => {
    const { tasks } = await makeStores()
    const task = await claimed(tasks, await publish(tasks))
    const names = Array.from({ length: 11 }, (_, nth) => `m${nth}`)

    const recorded = await Promise.all(names.map(name => tasks.recordLook(task, chain(name, 1), NOW)))

    expect(recorded.filter(Boolean)).toHaveLength(1)
  })

  it('recognises a repeated message by its name', async () => {
    const { tasks } = await makeStores()
    const task = await claimed(tasks, await publish(tasks))

    const recorded = [
      await tasks.recordLook(task, chain('a', 9), NOW),
      await tasks.recordLook(task, chain('a', 9), NOW + SECOND),
    ]

    expect(recorded).toEqual([true, true])
  })

  it('records another chain after one whose record has run out', async () => {
    const { tasks } = await makeStores()
    const task = await claimed(tasks, await publish(tasks))

    const recorded = [
      await tasks.recordLook(task, chain('a', 57), NOW),
      await tasks.recordLook(task, chain('b', 1), UNTIL),
      await tasks.recordLook(task, chain('b', 1, UNTIL + SECOND), UNTIL + 1),
    ]

    expect(recorded).toEqual([true, false, true])
  })

  it('holds for one revision of a task: a newer one starts a new chain, an older one records nothing', async () => {
    const { tasks } = await makeStores()
    const task = await claimed(tasks, await publish(tasks))
    await tasks.recordLook(task, chain('a', 57), NOW)
    const next = await written(tasks, changeOf(patch(task, { priority: 3 }, NOW)))

    const recorded = [
      await tasks.recordLook(task, chain('a2', 65), NOW),
      await tasks.recordLook(next, chain('b', 1), NOW),
      await tasks.recordLook({ ...next, born: LATER_BORN }, chain('c', 9), NOW),
    ]

    expect(recorded).toEqual([false, true, false])
  })

  it('changes only the operation of the task, and a heartbeat keeps the record', async () => {
    const { tasks } = await makeStores()
    const task = await claimed(tasks, await publish(tasks))

    await tasks.recordLook(task, chain('a', 9), NOW)
    const recorded = await tasks.head(task.id)
    const { born } = task
    await tasks.apply(changeOf(heartbeat(task, { born, fence: 1 }, NOW + SECOND)))

    expect(recorded).toEqual({ ...task, operation: 'beat' })
    expect(await tasks.recordLook(task, chain('b', 9), NOW + SECOND)).toBe(false)
  })
}
