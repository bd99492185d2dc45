import { deletableAt } from '../../../../shared/core/task/fence.ts'
import type { Task } from '../../../../shared/core/task/task.ts'
import { createSeededChance } from '../../../../shared/testing/chance.ts'
import type { MemoryHeads } from '../../../../shared/testing/heads.ts'
import type { World } from '../world.ts'

/**
 * Deletes heads some time after their expiry, as DynamoDB's time to live does; `onDrop` is told of each. All other items
 * that expire are gone for their readers from that time on, so that deleting them would change nothing.
 */
export function createExpiry(
  world: World,
  heads: MemoryHeads,
  onDrop: (id: string) => void,
): (written: Task) => void {
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
      // Any later write has come with a time of its own.
      if (head?.born !== born || head.revision !== revision) return
      history.record({ at: timeline.now(), by: 'the table', what: 'expired', id })
      heads.drop(id)
      onDrop(id)
    })
  }
}
