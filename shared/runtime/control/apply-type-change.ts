import { orderingOf, type TaskType } from '../../core/task-type.ts'
import type { ChangedType } from '../change-type.ts'
import { startJob } from '../jobs/work-on-job.ts'
import type { System } from '../system.ts'
import { forgetType } from '../type-cache.ts'
import { PAUSE_ACK_MS } from './limits-of.ts'
import { flowsWithStepsOf } from './pause-type.ts'

type Jobs = Pick<System, 'types' | 'messages' | 'clock'>

/**
 * Limits and order of a type hold when this returns, for what waits already, too: what waits for a limit asks anew, and what waits in
 * another order is sorted anew. Steps of flows keep the order they were published with.
 */
export async function applyTypeChange(system: Jobs, { before, after }: ChangedType): Promise<void> {
  if (!after) return
  forgetType(system, after.type)
  if (!before) return
  if (limitsOf(before) !== limitsOf(after)) {
    // By then whoever claims knows the new ones.
    await system.clock.sleep(PAUSE_ACK_MS)
    for (const type of [after, ...(await flowsWithStepsOf(system, after.type))]) {
      await startJob(system, type, { kind: 'relimit' })
    }
  }
  const ordering = orderingOf(after)
  if (ordering !== orderingOf(before)) await startJob(system, after, { kind: 'reorder', ordering })
}

function limitsOf({ configuration: { limits = {} } }: TaskType): string {
  const { rate, concurrency } = limits
  return JSON.stringify([
    rate && [rate.limit, rate.perMs, rate.key],
    concurrency && [concurrency.max, concurrency.key],
  ])
}
