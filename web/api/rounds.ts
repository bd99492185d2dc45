import type { Query, QueryKey } from '@tanstack/react-query'
import { PACE_MS } from './paces.ts'
import { isShort, queries } from './queries.ts'

/**
 * Asks again what is on screen. Once in `PACE_MS` a round asks all questions that are due: those whose answers an event has changed,
 * and those whose own pace has passed. What is expensive to answer
 * rests for some time before an event has it asked again. A hidden tab asks nothing.
 */

const touched = new Map<string, QueryKey>()
/** When each question was last asked, by its hash. */
const askedAt = new Map<string, number>()
/** Timers of browsers are late by some milliseconds, so that two rounds may be a little nearer to each other than their pace. */
const TIMER_MS = 100

/** Marks the answers whose keys begin so. The next round asks them again. */
export function touch(queryKey: QueryKey): void {
  touched.set(JSON.stringify(queryKey), queryKey)
}

/** Has rounds follow each other for as long as the page is open. `before` runs at the beginning of each. */
export function startRounds(before: () => void): void {
  queries.getQueryCache().subscribe(({ type, query, ...event }) => {
    if (type === 'updated' && 'action' in event && event.action.type === 'fetch') {
      askedAt.set(query.queryHash, Date.now())
    }
  })
  setInterval(() => {
    if (document.visibilityState === 'hidden') return
    before()
    round()
  }, PACE_MS)
}

function round(): void {
  const keys = [...touched.values()]
  touched.clear()
  // A list with further pages only counts as outdated, and what is not on screen is asked when it is shown.
  for (const queryKey of keys) void queries.invalidateQueries({ queryKey, refetchType: 'none' })
  void queries.refetchQueries(
    { type: 'active', predicate: query => isShort(query) && isDue(query) },
    { cancelRefetch: false },
  )
}

function isDue(query: Query): boolean {
  const { pace, restMs = 0 } = query.meta ?? {}
  const age = Date.now() - (askedAt.get(query.queryHash) ?? 0) + TIMER_MS
  if (query.state.isInvalidated) return age >= Math.max(restMs, PACE_MS)
  const ms = typeof pace === 'function' ? pace(query.state.data) : pace
  return ms !== undefined && age >= ms
}
