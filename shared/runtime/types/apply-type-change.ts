import type { TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'
import { type ChangedType, changeType } from './change-type.ts'
import { flowsWithStepsOf } from './pause-type.ts'
import { startJob } from './start-job.ts'
import { forgetType, PAUSE_ACK_MS } from './type-cache.ts'

type Jobs = Pick<System, 'types' | 'messages' | 'clock'>

/** Whoever changed the type has applied it by then, or died. */
const SILENT_MS = 60_000
/** A second pass finds what the index showed late, and what somebody sorted at the same time by an older order. */
const SECOND_PASS_S = 5

export type AppliedReport = { readonly repaired: number; readonly failed: number }

/**
 * Limits and order of a type hold when this returns, for what waits already, too: what waits for a limit asks anew, and
 * what waits in another order is sorted anew. Steps of flows keep the order they were published with. What is not done
 * here stands with the type: the next change of its configuration does it, or the sweeper.
 */
export async function applyTypeChange(system: Jobs, { after }: ChangedType): Promise<void> {
  if (!after) return
  forgetType(system, after.type)
  // By then whoever claims knows the new ones.
  if (after.unapplied?.includes('relimit')) await system.clock.sleep(PAUSE_ACK_MS)
  await apply(system, after)
}

/** Finishes changes of types that whoever asked for them could not. */
export async function sweepTypeChanges(
  system: Pick<System, 'types' | 'messages' | 'clock' | 'log'>,
  types: readonly TaskType[],
): Promise<AppliedReport> {
  const now = system.clock.now()
  const left = types.filter(({ unapplied, updatedAt }) => unapplied && updatedAt + SILENT_MS <= now)
  const failures = left.map(type =>
    apply(system, type).then(
      () => 0,
      error => {
        system.log.error('a change of a type was not applied', { type: type.type, error })
        return 1
      },
    ),
  )
  const failed = (await Promise.all(failures)).reduce((sum, one) => sum + one, 0)
  return { repaired: left.length - failed, failed }
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
  // Whoever has changed it since sees to all that is left himself.
  await changeType(system, type.type, stored =>
    stored?.version === type.version ? { ...stored, unapplied: [] } : undefined,
  )
}
