import { DEFAULT_OPTIONS } from '../../../shared/core/options.ts'
import { liveRuns } from '../../../shared/core/task/task.ts'
import type { Scenario } from '../scenario.ts'
import type { HistoryEvent } from '../world/history.ts'
import { START } from '../world/world.ts'
import type { Invariant } from './invariant.ts'

/**
 * How often the planner dispatches one revision: once, and once more when the stream delivers a batch again
 * for a reason other than a far minute: one with tasks that are due further ahead than an SQS delay reaches.
 */
const DISPATCHES_MAX = 2
/** Looks are counted over five minutes. */
const COUNTED_MS = 300_000
const MERGING_MS = 120_000
/** Eight a minute. One chain of looks makes four a minute with the default lease. */
const LOOKS_MAX = 40

/** Promises about how many messages are sent. */
export const MESSAGE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a far minute that cannot be scheduled does not multiply the dispatches of other tasks',
    watch: scenario => {
      const isJudged = isDisturbedByScheduler(scenario)
      const sent = new Map<string, number>()
      return {
        on: event => {
          if (!isJudged || event.what !== 'dispatched' || !event.by.startsWith('planner')) return undefined
          const { id, born, revision } = event
          const name = `${id} ${born} ${revision}`
          const times = (sent.get(name) ?? 0) + 1
          sent.set(name, times)
          return times > DISPATCHES_MAX
            ? `the planner sends revision ${revision} of ${id} ${times} times`
            : undefined
        },
      }
    },
  },
  {
    name: 'in the long run the waker receives a few looks a minute at a running task, however many messages were doubled',
    watch: ({ calmAt }) => {
      const runs = createStillRuns()
      const looks = new Map<string, number[]>()
      return {
        on: event => {
          runs.see(event)
          if (event.what !== 'look-received') return undefined
          const { id, at } = event
          const since = Math.max(runs.since(id), START + calmAt) + MERGING_MS
          const times = [...(looks.get(id) ?? []), at].filter(time => time > Math.max(since, at - COUNTED_MS))
          looks.set(id, times)
          return times.length > LOOKS_MAX
            ? `${id} was looked at ${times.length} times in ${COUNTED_MS} ms`
            : undefined
        },
      }
    },
  },
]

/** For each running task with at least the default lease: since when only heartbeats were written. */
function createStillRuns() {
  const still = new Map<string, number>()
  return {
    since: (id: string) => still.get(id) ?? Number.POSITIVE_INFINITY,
    see: (event: HistoryEvent) => {
      if (event.what !== 'write' || event.after.operation === 'beat') return
      const { after, at } = event
      const isUsual = after.options.leaseMs >= DEFAULT_OPTIONS.leaseMs && liveRuns(after).length > 0
      if (isUsual) still.set(after.id, at)
      else still.delete(after.id)
    },
  }
}

/** Whether nothing goes wrong except that the scheduler is out. */
function isDisturbedByScheduler({ weather, outages = [], steps }: Scenario): boolean {
  const isStill = Object.values(weather).every(share => share === 0)
  return (
    isStill &&
    outages.every(({ service }) => service === 'scheduler') &&
    steps.every(({ do: what }) => what === 'publish')
  )
}
