import type { TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'
import { NOTHING_SWEPT, type SweepReport, sweepEach } from '../repair/repair.ts'
import { type ChangedType, changeType } from './change-type.ts'
import { flowsWithStepsOf } from './pause-type.ts'
import { startJob, throwIfUnsent } from './start-job.ts'
import { forgetType, PAUSE_ACK_MS } from './type-cache.ts'

type Jobs = Pick<System, 'types' | 'messages' | 'clock'>

/** After this time, the process that changed the type has applied the change or has died. */
const SILENT_MS = 60_000
/**
 * A second pass finds tasks that the index showed late, and tasks that another process sorted at the same time
 * by an older order.
 */
const SECOND_PASS_S = 5

/**
 * Starts the jobs that apply changed limits, and a changed kind or order, to open tasks of the type and to flows with
 * steps of the type. When this returns, every claim obeys the changed limits; a changed kind or order reaches every
 * process within a second. The jobs look at the lines of the changed limits, and give all tasks the present kind and
 * order. What is not done here stays listed in the type: the next change of the configuration applies it, or the sweeper
 * does.
 */
export async function applyTypeChange(system: Jobs, { after }: ChangedType): Promise<void> {
  if (!after) return
  forgetType(system, after.type)
  // After this wait every claim knows the new limits.
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
    const looks = (['slot', 'permit'] as const).map(kind => ({
      line: { kind, limit: type.type },
      delaySeconds: 0,
    }))
    await throwIfUnsent(system.messages.lookAtLimits(looks), { kind: 'relimit' })
  }
  for (const one of [type, ...(await flowsWithStepsOf(system, type.type))]) {
    for (const kind of unapplied) await startJob(system, one, { kind })
    if (unapplied.includes('reorder')) await startJob(system, one, { kind: 'reorder' }, SECOND_PASS_S)
  }
  // A process that has changed the type since applies everything that is left.
  await changeType(system, type.type, stored =>
    stored?.version === type.version ? { ...stored, unapplied: [] } : undefined,
  )
}
