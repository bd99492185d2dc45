import type { SweepReport } from '../shared/runtime/repair/repair.ts'
import { sweep } from '../shared/runtime/sweep/sweep.ts'
import { createSweepMemory } from '../shared/runtime/sweep/sweep-round.ts'
import { flushMetrics } from './compose/compose.ts'
import { composePlanningSystem } from './compose/compose-timers.ts'

const system = composePlanningSystem()
const memory = createSweepMemory()

/** Runs every minute and repairs what lost messages left behind. */
export async function handler(): Promise<SweepReport> {
  try {
    const report = await sweep(system, memory)
    system.log.info('swept', report)
    return report
  } finally {
    flushMetrics()
  }
}
