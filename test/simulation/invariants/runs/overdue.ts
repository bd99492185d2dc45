import { liveRuns } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import { START } from '../../world/world.ts'
import type { Invariant } from '../invariant.ts'
import { createWaits } from '../waits.ts'

/**
 * A change that no message announces any more is found by the sweeper, which runs every minute. Calls may be slow, and the
 * stream is late by up to a minute.
 */
const FOUND_WITHIN_MS = 5 * 60_000

/**
 * Promises about what must happen at a time of its own, however much later the task is due: the end at a deadline, the end
 * of a dead run, and owed callbacks.
 */
export const OVERDUE_INVARIANTS: readonly Invariant[] = [
  overdue(
    'once it is calm, a deadline that has passed fails its task within minutes',
    ({ state, deadlineAt }) => (state === 'open' ? deadlineAt : undefined),
  ),
  overdue('once it is calm, a run whose lease has ended is recorded as lost within minutes', task => {
    const ends = task.state === 'open' ? liveRuns(task).map(({ leaseUntil }) => leaseUntil) : []
    return ends.length > 0 ? Math.min(...ends) : undefined
  }),
  overdue(
    'once it is calm and their types are mended, owed callbacks are published within minutes',
    ({ state, owes, finishedAt, canvas }) => (owes && !canvas && state !== 'open' ? finishedAt : undefined),
  ),
]

/** `sinceOf`: since when a head waits for the change; undefined when it does not. That time may lie ahead. */
export function overdue(name: string, sinceOf: (head: SeenHead) => number | undefined): Invariant {
  return {
    name,
    watch: scenario => {
      const calmAt = calmFrom(scenario)
      const waits = createWaits()
      let settingsAt = 0
      return {
        on: event => {
          if (event.what === 'type') settingsAt = event.at
          if (event.what === 'expired') waits.set(event.id, undefined)
          if (event.what === 'write') waits.set(event.after.id, sinceOf(event.after))
          return waits.late(event.at, FOUND_WITHIN_MS, Math.max(calmAt, settingsAt))
        },
      }
    },
  }
}

/** When the last disturbance and the last deployment are over. */
function calmFrom({ calmAt, steps }: Scenario): number {
  const deployed = steps.flatMap(step => (step.do === 'deploy' ? [step.at] : []))
  return START + Math.max(calmAt, ...deployed)
}
