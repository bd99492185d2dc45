import { type LastSwept, type SweepReport, sweep } from '../shared/runtime/sweep.ts'
import { flushMetrics } from './compose.ts'
import { composePlanningSystem } from './compose-timers.ts'

const system = composePlanningSystem()
const lastSwept: LastSwept = new Map()

/** Every minute: repairs what lost messages left behind. */
export async function handler(): Promise<SweepReport> {
  try {
    const report = await sweep(system, lastSwept)
    system.log.info('swept', report)
    return report
  } finally {
    flushMetrics()
  }
}
