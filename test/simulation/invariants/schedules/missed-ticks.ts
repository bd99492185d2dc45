import type { Scenario } from '../../scenario.ts'
import type { Invariant } from '../invariant.ts'
import { tickedBy } from './ticks.ts'

/** Ticks at the ends of an outage that may be on time or missed. */
const UNCERTAIN_TICKS = 2

/** Promises about a schedule that missed dozens of ticks in an outage. */
export const MISSED_TICK_INVARIANTS: readonly Invariant[] = [
  {
    name: 'after an outage a schedule catches up on its latest ticks, as many as it says',
    watch: scenario => {
      const owed = owedIn(scenario)
      if (!owed) return {}
      const late: number[] = []
      return {
        on: event => {
          const task = tickedBy(event)
          if (task && event.at - task.dueAt > 1.5 * owed.everyMs) late.push(task.dueAt)
          return undefined
        },
        atEnd: () => {
          if (late.length < owed.ticks)
            return `only ${late.length} of ${owed.ticks} missed ticks are published`
          const gap = late
            .sort((a, b) => a - b)
            .find((tick, nth) => nth > 0 && tick - (late[nth - 1] ?? 0) !== owed.everyMs)
          return gap === undefined ? undefined : `the missed ticks before ${gap} are not the latest ones`
        },
      }
    },
  },
]

/** The period of the schedule, and how many missed ticks it must publish at least. */
function owedIn({ trial, steps, outages = [] }: Scenario) {
  const [put] = steps.flatMap(step => (step.do === 'put-schedule' ? [step] : []))
  const [outage] = outages
  if (trial !== 'missed-ticks' || !put || !outage || put.timing.kind !== 'every' || put.missed === 'skip')
    return undefined
  const { everyMs } = put.timing
  const missed = Math.floor(outage.ms / everyMs)
  return { everyMs, ticks: Math.min(put.missed.catchUp, missed) - UNCERTAIN_TICKS }
}
