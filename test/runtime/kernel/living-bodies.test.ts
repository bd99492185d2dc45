import { describe, expect, it } from 'vitest'
import { cancel } from '../../../shared/core/operate/operate.ts'
import { heartbeat } from '../../../shared/core/run/lease.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import { restartTask } from '../../../shared/runtime/operate/operate.ts'
import { patchTask } from '../../../shared/runtime/operate/patch-task.ts'
import { aRun, aTask, DAY, NOW } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, stored } from '../../support/worlds/memory-system.ts'

/** A system that records which bodies were renewed, and until when. */
function aWatchedSystem(): { system: MemorySystem; renewed: Array<[string, number]> } {
  const system = aMemorySystem()
  const renewed: Array<[string, number]> = []
  const renewBody = async (_id: string, ref: string, expiresAt: number) => void renewed.push([ref, expiresAt])
  return { system: { ...system, tasks: { ...system.tasks, renewBody } }, renewed }
}

describe('an input that is stored apart from its head', () => {
  const input = 'x'.repeat(1_000)

  it('is not written by plain changes', async () => {
    const { system, renewed } = aWatchedSystem()
    const { id } = await stored(system, { input })
    await patchTask(system, id, { priority: 1, dueAt: NOW + DAY })
    await transact(system, await readTask(system, id), task => cancel(task ?? aTask(), NOW))

    expect(renewed).toEqual([])
  })

  it('lives on when its task is put off by years', async () => {
    const { system, renewed } = aWatchedSystem()
    const { id } = await stored(system, { input })
    await patchTask(system, id, { dueAt: NOW + 1_000 * DAY })
    const task = await readTask(system, id)

    expect(renewed).toEqual([[task?.input && 'ref' in task.input && task.input.ref, NOW + 1_037 * DAY]])
    expect(task?.input).toMatchObject({ expiresAt: NOW + 1_037 * DAY })
  })

  it('lives on when its task starts over late in its retention', async () => {
    const { system, renewed } = aWatchedSystem()
    const { id } = await stored(system, { input, options: { retentionMs: 300 * DAY } })
    await transact(system, await readTask(system, id), task => cancel(task ?? aTask(), NOW))
    await system.clock.advance(200 * DAY)
    await restartTask(system, id)

    expect(renewed).toHaveLength(1)
    expect(await readTask(system, id)).toMatchObject({
      state: 'open',
      input: { expiresAt: NOW + 530 * DAY },
    })
  })

  it('costs nothing at a heartbeat', async () => {
    const { system, renewed } = aWatchedSystem()
    const ageing = { ref: 'in#x', bytes: 1_000, expiresAt: NOW }
    const task = aTask({ live: [aRun()], input: ageing })
    await transact(system, task, seen => heartbeat(seen, { born: task.born, fence: 1 }, NOW)).catch(
      () => undefined,
    )

    expect(renewed).toEqual([])
  })
})
