import { type SweepReport, type SweepRounds, sweep } from '../shared/runtime/sweep/sweep.ts'
import type { CheckedMinutes } from '../shared/runtime/sweep/sweep-minutes.ts'
import { sweepWorkers } from '../shared/runtime/worker/worker.ts'
import { flushMetrics } from './compose/compose.ts'
import { composePlanningSystem } from './compose/compose-timers.ts'

const system = composePlanningSystem()
const rounds: SweepRounds = new Map()
const minutes: CheckedMinutes = new Set()

/** Every minute: repairs what lost messages left behind. */
export async function handler(): Promise<SweepReport> {
  try {
    const [report] = await Promise.all([sweep(system, rounds, minutes), sweepWorkers(system)])
    system.log.info('swept', report)
    return report
  } finally {
    flushMetrics()
  }
}
