import { describe, expect, it } from 'vitest'
import { isCanvas, isSchedule } from '../../../shared/core/task/head.ts'
import { readHead, readTask, readTasks } from '../../../shared/runtime/kernel/heads.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import { aCanvas, aSchedule, aTask } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem } from '../../support/worlds/memory-system.ts'

async function withHeads(): Promise<MemorySystem> {
  const system = aMemorySystem()
  for (const after of [aTask(), aCanvas(), aSchedule()])
    await system.tasks.apply({ before: undefined, after, guard: { kind: 'absent' }, bodies: [] })
  return system
}

describe('a read of one kind', () => {
  it('finds the heads of its kind and no others', async () => {
    const system = await withHeads()
    const ids = [aTask().id, aCanvas().id, aSchedule().id]

    expect(await Promise.all(ids.map(id => readTask(system, id)))).toEqual([aTask(), undefined, undefined])
    expect(await readHead(system, aCanvas().id, isCanvas)).toEqual(aCanvas())
    expect(await readHead(system, aCanvas().id, isSchedule)).toBeUndefined()
    expect(await readTasks(system, ids)).toEqual([aTask()])
  })
})

it('a decision about one kind is never made on a head of another that is stored under its id', async () => {
  const system = await withHeads()
  const odd = { ...aTask(), id: aCanvas().id }
  const change = { before: undefined, after: odd, guard: { kind: 'absent' }, bodies: [] } as const

  const deciding = transact(system, undefined, () => ({ ok: true, change }))

  await expect(deciding).rejects.toMatchObject({ code: 'invalid' })
})
