import { statusOf } from '../../../shared/core/status.ts'
import type { Status } from '../../../shared/core/task/lifecycle.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { Scenario, Step } from '../scenario.ts'
import { START } from '../world/world.ts'
import type { Invariant } from './invariant.ts'

type Purge = Extract<Step, { readonly do: 'purge' }>

/** The function that works on purges. The API itself removes single tasks. */
const WORKED_ON_BY = 'jobs'

/** Promises about which tasks a purge removes. */
export const PURGE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a purge removes nothing that was published after it was asked for',
    watch: ({ steps, weather }) => {
      const purges = purgesIn(steps)
      const answeredAt = new Map<Step, number>()
      return {
        on: event => {
          if (event.what === 'answer') answeredAt.set(event.step, event.at)
          const isPurged = event.what === 'write' && event.after.operation === 'remove'
          if (!isPurged || !event.by.startsWith(WORKED_ON_BY) || !event.before) return undefined
          const { before, at } = event
          // The clock of the publisher and the clock of the API may both be wrong.
          const isIncluded = purges.some(
            purge =>
              purge.type === before.type &&
              START + purge.at <= at &&
              before.createdAt <= (answeredAt.get(purge) ?? at) + 2 * weather.skewMs,
          )
          return isIncluded ? undefined : `${before.id} was purged, although it was published later`
        },
      }
    },
  },
  {
    name: 'no task is left that a purge should have removed, in the end, or, where nothing goes wrong, half a minute later',
    watch: scenario => {
      const accepted: Purge[] = []
      return {
        on: event => {
          if (event.what === 'answer' && event.answer.ok && event.step.do === 'purge')
            accepted.push(event.step)
          if (event.what !== 'write' || scenario.trial !== 'purges' || !event.before) return undefined
          const { before, at } = event
          const missed = accepted.find(
            purge =>
              START + purge.at + PURGED_WITHIN_MS < at && shouldBeRemoved(before as Task, purge, scenario),
          )
          return (
            missed && `${before.id} was left by the purge of ${missed.type}, ${missed.statuses.join(', ')}`
          )
        },
        atEnd: heads => {
          for (const purge of accepted) {
            const left = heads.find(task => shouldBeRemoved(task, purge, scenario))
            if (left) return `${left.id} is left of the purge of ${purge.type}, ${purge.statuses.join(', ')}`
          }
          return undefined
        },
      }
    },
  },
]

function purgesIn(steps: readonly Step[]): Purge[] {
  return steps.flatMap(step => (step.do === 'purge' ? [step] : []))
}

/**
 * Whether a purge should have removed the task. The task was not written since the purge, and had one of the
 * purge's statuses then by any clock.
 */
function shouldBeRemoved(task: Task, { type, statuses, at }: Purge, { weather }: Scenario): boolean {
  if (task.state === 'removed' || task.type !== type || isKeptForShort(task)) return false
  const time = START + at
  if (task.updatedAt + 2 * weather.skewMs >= time) return false
  const seen: Status[] = [
    statusOf(task, time - 2 * weather.skewMs),
    statusOf(task, time + REPEATED_REQUEST_MS_MAX),
  ]
  return seen.every(status => statuses.includes(status))
}

/** Whether the task expires soon, perhaps before the purge reaches it. */
function isKeptForShort({ expiresAt, updatedAt }: Task): boolean {
  return expiresAt !== undefined && expiresAt - updatedAt < DAY_MS
}

const DAY_MS = 86_400_000
/** A purge of few tasks ends in seconds. */
const PURGED_WITHIN_MS = 30_000
/** How long a caller without an answer repeats its request at most. */
const REPEATED_REQUEST_MS_MAX = 200_000
