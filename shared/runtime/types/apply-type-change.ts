import type { TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'
import { NOTHING_SWEPT, type SweepReport, sweepEach } from '../sweeper/sweeper.ts'
import { type ChangedType, changeType } from './change-type.ts'
import { flowsWithStepsOf } from './pause-type.ts'
import { startJob } from './start-job.ts'
import { forgetType, PAUSE_ACK_MS } from './type-cache.ts'

type Jobs = Pick<System, 'types' | 'messages' | 'clock'>

/** The process that changed the type has applied the change by then, or has died. */
const SILENT_MS = 60_000
/**
 * A second pass finds tasks that the index showed late, and tasks that another process sorted at the same time
 * by an older order.
 */
const SECOND_PASS_S = 5

/**
 * Applies changed limits and a changed order to tasks that wait already; both hold when this returns. Tasks
 * that wait for a limit ask again, and tasks that wait in another order are sorted anew. Steps of flows keep
 * the order with which they were published. What is not done here stays listed in the type: the next change of
 * its configuration applies it, or the sweeper.
 */
export async function applyTypeChange(system: Jobs, { after }: ChangedType): Promise<void> {
  if (!after) return
  forgetType(system, after.type)
  // By then every claim knows the new limits.
  if (after.unapplied?.includes('relimit')) await system.clock.sleep(PAUSE_ACK_MS)
  await apply(system, after)
}

/** Applies changes of types whose own process did not finish. */
export async function sweepTypeChanges(
  system: Pick<System, 'types' | 'messages' | 'clock' | 'log'>,
  types: readonly TaskType[],
): Promise<SweepReport> {
  const now = system.clock.now()
  const unfinished = types.filter(({ unapplied, updatedAt }) => unapplied && updatedAt + SILENT_MS <= now)
  return sweepEach(
    unfinished,
    unfinished.length,
    async type => {
      await apply(system, type)
      return { ...NOTHING_SWEPT, repaired: 1 }
    },
    ({ type }, error) => system.log.error('a change of a type was not applied', { type, error }),
  )
}

async function apply(system: Jobs, type: TaskType): Promise<void> {
  const { unapplied = [] } = type
  if (unapplied.length === 0) return
  if (unapplied.includes('relimit')) {
    for (const one of [type, ...(await flowsWithStepsOf(system, type.type))]) {
      await startJob(system, one, { kind: 'relimit' })
    }
  }
  if (unapplied.includes('reorder')) {
    await startJob(system, type, { kind: 'reorder' })
    await startJob(system, type, { kind: 'reorder' }, SECOND_PASS_S)
  }
  // A process that has changed the type since applies everything that is left.
  await changeType(system, type.type, stored =>
    stored?.version === type.version ? { ...stored, unapplied: [] } : undefined,
  )
}
