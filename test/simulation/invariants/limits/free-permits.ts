import { liveRuns, type Task } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { Invariant, Write } from '../invariant.ts'

/** A release reaches the next task in about half a second. A look that comes without a release may take 15 s. */
const TAKEN_WITHIN_MS = 4_000
/** By then the index shows a task that has joined the line. */
const SHOWN_WITHIN_MS = 1_000
/** A look passes over a task that was dispatched just now. Some looks may pass before the tasks behind it are dispatched. */
const PASSED_OVER_WITHIN_MS = 25_000
const TRIALS: ReadonlyArray<Scenario['trial']> = ['permits', 'many-permits']

/** Promises about permits that are given back while tasks wait for them. */
export const FREE_PERMIT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'where nothing goes wrong, a permit that is given back is taken within seconds if a task waits for it',
    watch: scenario => {
      if (!isPrompt(scenario)) return {}
      /** The tasks that wait for a permit, each with its limit and the time at which it joined the line. */
      const waiting = new Map<string, { readonly limit: string; readonly since: number }>()
      /** When each task ran last. */
      const ranAt = new Map<string, number>()
      /** For each limit: since when a permit is free that nothing has taken. */
      const free = new Map<string, number>()
      const isWaitedFor = (limit: string, at: number) =>
        [...waiting.values()].some(one => one.limit === limit && one.since + SHOWN_WITHIN_MS <= at)
      const onPermit = ({ limit, isHeld, at }: Extract<HistoryEvent, { readonly what: 'permit' }>) => {
        if (isHeld) free.delete(limit)
        else if (isWaitedFor(limit, at) && !free.has(limit)) free.set(limit, at)
      }
      const firstLate = (at: number) => {
        for (const [limit, from] of free) if (!isWaitedFor(limit, from)) free.delete(limit)
        const [limit, since = at] = [...free].find(([, from]) => at - from > TAKEN_WITHIN_MS) ?? []
        return (
          limit && `a permit of ${limit} was free for ${Math.round(at - since)} ms, while tasks waited for it`
        )
      }
      return {
        on: event => {
          if (event.what === 'type') free.clear()
          if (event.what === 'permit') onPermit(event)
          if (event.what !== 'write') return undefined
          seeWait(waiting, ranAt, event)
          return firstLate(event.at)
        },
      }
    },
  },
  {
    name: 'tasks that no worker may claim do not keep others from a free permit',
    watch: ({ trial }) => {
      if (trial !== 'unclaimable') return {}
      /** The tasks that the present workers may claim, and that do not run. */
      const claimable = new Set<string>()
      let claimedAt = 0
      return {
        on: event => {
          if (event.what === 'write') {
            const { after, at } = event
            if (after.operation === 'claim' || claimable.size === 0) claimedAt = at
            if (isClaimable(after as Task)) claimable.add(after.id)
            else claimable.delete(after.id)
          }
          const idleMs = event.at - claimedAt
          return claimable.size > 0 && idleMs > PASSED_OVER_WITHIN_MS
            ? `no task was claimed for ${Math.round(idleMs)} ms, while ${[...claimable]} waited`
            : undefined
        },
      }
    },
  },
]

/** Whether functions take each task at once, nothing fails, and no other limit holds a task back. */
function isPrompt({ trial, weather, types }: Scenario): boolean {
  return (
    TRIALS.includes(trial) &&
    Object.values(weather).every(share => share === 0) &&
    types.every(({ servedBy, limits }) => servedBy === 'lambda' && limits?.rate === undefined)
  )
}

function isClaimable(task: Task): boolean {
  return task.state === 'open' && task.options.minWorkerVersion === undefined && liveRuns(task).length === 0
}

/**
 * A task that joins the line again right after a run, such as a released one, was dispatched just now by what the line remembers. So looks
 * pass it over for a while, and it waits from then on.
 */
function seeWait(
  waiting: Map<string, { readonly limit: string; readonly since: number }>,
  ranAt: Map<string, number>,
  { after, at }: Write,
): void {
  const { wait, id } = after as Task
  if (liveRuns(after as Task).length > 0) ranAt.set(id, at)
  const isWaiting = after.state === 'open' && wait?.kind === 'permit' && liveRuns(after as Task).length === 0
  if (!isWaiting) waiting.delete(id)
  else if (waiting.get(id)?.limit !== wait.limit) {
    const passedOverUntil = (ranAt.get(id) ?? Number.NEGATIVE_INFINITY) + PASSED_OVER_WITHIN_MS
    waiting.set(id, { limit: wait.limit, since: Math.max(at, passedOverUntil) })
  }
}
