import { expect, it } from 'vitest'
import { systemClock } from '../../../../shared/aws/environment.ts'
import { create } from '../../../../shared/core/publish.ts'
import { cancelTask, removeTask } from '../../../../shared/runtime/operate/operate.ts'
import { patchTask } from '../../../../shared/runtime/operate/patch-task.ts'
import { aMeteredDynamo } from '../../../support/dynamo/metered-dynamo.ts'
import { aPublication } from '../../../support/tasks/a-task.ts'
import { aMemorySystem } from '../../../support/worlds/memory-system.ts'

const dynamo = aMeteredDynamo()

it('a change that names the expected revision costs as much as one that does not', async () => {
  const { tasks } = await dynamo.newStores()
  const operator = { by: 'someone', what: 'patch' }
  const system = { ...aMemorySystem(), clock: systemClock, tasks, operator }
  const now = systemClock.now()
  for (const key of ['plain', 'named'])
    await tasks.apply(create(aPublication({ key, dueAt: now }), undefined, now))
  const unitsOf = async (work: () => Promise<{ readonly ok: boolean }>) => {
    dynamo.take()
    expect((await work()).ok).toBe(true)
    return dynamo.take()
  }

  const changes = [
    (id: string, revision?: number) => patchTask(system, id, { priority: 3 }, expecting(revision)),
    (id: string, revision?: number) => cancelTask(system, id, expecting(revision)),
    (id: string, revision?: number) => removeTask(system, id, expecting(revision)),
  ]

  for (const [revision, change] of changes.entries()) {
    const plain = await unitsOf(() => change('resize:plain'))
    expect(await unitsOf(() => change('resize:named', revision))).toEqual(plain)
  }
})

function expecting(ifRevision: number | undefined) {
  return ifRevision === undefined ? {} : { ifRevision }
}
