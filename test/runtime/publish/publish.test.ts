import { expect, it } from 'vitest'
import type { Change } from '../../../shared/core/change.ts'
import type { Applied } from '../../../shared/ports/stores.ts'
import { cancelTask, restartTask } from '../../../shared/runtime/operate/operate.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import { aMemorySystem, type MemorySystem, registered } from '../../support/worlds/memory-system.ts'

/**
 * A store that loses the answer to the first write, although the write took effect. Before the write is repeated,
 * another process restarts the task. To the repetition that looks like a lost race.
 */
function overtakenOnce(system: MemorySystem, overtake: () => Promise<unknown>): MemorySystem {
  let isFirst = true
  const apply = async (change: Change): Promise<Applied> => {
    const applied = await system.tasks.apply(change)
    if (!isFirst) return applied
    isFirst = false
    await overtake()
    return { applied: false, current: await system.tasks.head(change.after.id) }
  }
  return { ...system, tasks: { ...system.tasks, apply } }
}

const REQUEST = { type: 'resize', key: 'k1', ifExists: 'restart' } as const

/** Every birth that the key has had, in order. */
function recordingBirths(system: MemorySystem): { readonly births: string[]; readonly system: MemorySystem } {
  const births: string[] = []
  const apply = async (change: Change): Promise<Applied> => {
    const applied = await system.tasks.apply(change)
    if (applied.applied && births.at(-1) !== change.after.born) births.push(change.after.born)
    return applied
  }
  return { births, system: { ...system, tasks: { ...system.tasks, apply } } }
}

it.each([
  ['a publish', (system: MemorySystem) => publish(system, REQUEST)],
  ['a restart', (system: MemorySystem) => restartTask(system, 'resize:k1')],
])('%s whose answer was lost never begins the same birth twice', async (_which, operate) => {
  const { births, system } = recordingBirths(aMemorySystem())
  await registered(system)
  await publish(system, REQUEST)
  await cancelTask(system, 'resize:k1')

  await operate(overtakenOnce(system, () => publish(system, REQUEST)))

  expect(births.length).toBeGreaterThanOrEqual(3)
  expect(new Set(births).size).toBe(births.length)
})
