import { collectDeadLetters } from '../shared/runtime/operate/dead-letters.ts'
import type { SweepReport } from '../shared/runtime/repair.ts'
import { sweep } from '../shared/runtime/sweep/sweep.ts'
import { createSweepMemory } from '../shared/runtime/sweep/sweep-round.ts'
import { flushMetrics } from './compose/compose.ts'
import { composeDeadLetterQueue, composeDeadLetterStore } from './compose/compose-dead-letters.ts'
import { composePlanningSystem } from './compose/compose-timers.ts'

/** A round begins no further receive of dead letters after this time. The next round goes on. */
const COLLECT_MS_MAX = 20_000

const system = composePlanningSystem()
const deadLetters = { clock: system.clock, log: system.log, deadLetters: composeDeadLetterStore() }
const deadLetterQueue = composeDeadLetterQueue()
const memory = createSweepMemory()

/** Runs every minute: repairs what lost messages left behind, and collects the messages that were given up. */
export async function handler(): Promise<SweepReport> {
  try {
    const collecting = collectDeadLetters(deadLetters, deadLetterQueue, system.clock.now() + COLLECT_MS_MAX)
    const [swept, collected] = await Promise.allSettled([sweep(system, memory), collecting])
    // The alarm on errors of this function shows that dead letters cannot be collected. The repairs are done by then.
    if (swept.status === 'rejected') throw swept.reason
    if (collected.status === 'rejected') throw collected.reason
    system.log.info('swept', { ...swept.value, deadLetters: collected.value })
    return swept.value
  } finally {
    flushMetrics()
  }
}
