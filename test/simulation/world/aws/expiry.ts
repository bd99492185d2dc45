import { deletableAt } from '../../../../shared/core/task/fence.ts'
import type { Head } from '../../../../shared/core/task/head.ts'
import { createSeededChance } from '../../../../shared/testing/stores/chance.ts'
import type { MemoryHeads } from '../../../../shared/testing/stores/heads.ts'
import type { World } from '../world.ts'

/**
 * Deletes heads some time after their expiry, as DynamoDB's time to live does. `onDrop` is called for each.
 * Other expired items are invisible to readers from their expiry on, so deleting them would change nothing.
 */
export function createExpiry(
  world: World,
  heads: MemoryHeads,
  onDrop: (id: string) => void,
): (written: Head) => void {
  const { timeline, history } = world
  const lagMs = world.scenario.conditions?.ttlLagMs
  if (lagMs === undefined) return () => undefined
  const chance = createSeededChance(world.seedOf('expiry'))
  return task => {
    const { id, born, revision } = task
    const deletedAt = deletableAt(task)
    if (deletedAt === undefined) return
    timeline.at(deletedAt + chance.fraction() * lagMs, () => {
      const head = heads.get(id)
      // A later write has scheduled a deletion of its own.
      if (head?.born !== born || head.revision !== revision) return
      history.record({ at: timeline.now(), by: 'the table', what: 'expired', id })
      heads.drop(id)
      onDrop(id)
    })
  }
}
