import type { InfiniteData, Query, QueryKey } from '@tanstack/react-query'
import type { ApiEvent } from '../../shared/api/events.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { baton, isStatus } from './baton.ts'
import type { TaskPage } from './merged-lists.ts'
import { PACE_MS, UNTOUCHED_FACTOR, UNTOUCHED_MS } from './paces.ts'
import { isShort, queries, renew } from './queries.ts'
import { connection, goOnWithoutEvents, logEvent, watchRefusals } from './store.ts'

/**
 * Keeps what is shown up to date. One connection reads the events of the system. Each event marks the questions whose answers it changes,
 * and the next round asks the marked ones that are on screen again. A deployed system has no event stream, and a type may be without
 * events; then the slower pace of `queries.ts` alone applies. A hidden tab reads and asks nothing, and catches up when it is shown.
 */

const RECONNECT_MS = 2_000

let lastEventId: string | undefined
let statuses = new Map<string, ApiEvent['status']>()

/** Follows the system for as long as the page is open. */
export function startLive(): void {
  let following: AbortController | undefined
  let isFirst = true
  const follow = () => {
    const isHidden = document.visibilityState === 'hidden'
    if (isHidden === (following === undefined)) return
    following?.abort()
    following = isHidden ? undefined : new AbortController()
    if (!following) return
    if (!isFirst) renew()
    isFirst = false
    void followEvents(following.signal)
  }
  document.addEventListener('visibilitychange', follow)
  for (const type of ['pointermove', 'pointerdown', 'keydown'])
    document.addEventListener(type, noteTouch, { passive: true })
  renewAfterBreaks()
  watchRefusals(queries)
  startRounds(patchRows)
  follow()
}

/** What is on screen may be outdated after a break. */
function renewAfterBreaks(): void {
  let was = connection.get()
  connection.subscribe(() => {
    if (was === 'broken') renew()
    was = connection.get()
  })
}

async function followEvents(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const isWithoutEvents = await readEvents(signal)
    if (isWithoutEvents) return goOnWithoutEvents()
    await new Promise(resolve => setTimeout(resolve, RECONNECT_MS))
  }
}

/** Reads events until the connection cannot be made. Returns whether the system has no event stream at all. */
async function readEvents(signal: AbortSignal): Promise<boolean> {
  try {
    for await (const event of baton.events({ signal, ...(lastEventId !== undefined && { lastEventId }) })) {
      lastEventId = event.id
      take(event)
    }
    return false
  } catch (error) {
    // A system that demands signatures refuses the stream, too.
    return !signal.aborted && (isStatus(error, 501) || isStatus(error, 403))
  }
}

function take(event: ApiEvent): void {
  logEvent(event)
  // The next round asks them again.
  for (const key of keysTouchedBy(event)) touched.set(JSON.stringify(key), key)
  if (event.taskId !== undefined && event.status) statuses.set(event.taskId, event.status)
}

const OF_TASKS = ['tasks', 'counts', 'activity', 'limits', 'canvas', 'failures', 'attention']

/** The beginnings of the keys of all answers that an event changes. */
function keysTouchedBy({ type, taskId = '' }: ApiEvent): QueryKey[] {
  const [kind] = type.split('.')
  if (kind === 'task') return [['task', taskId], ['why', taskId], ...OF_TASKS.map(one => [one])]
  if (kind === 'canvas') return [['canvas', taskId]]
  if (kind === 'schedule') return [['schedules']]
  return [['workers']]
}

/** A list that a reader has scrolled down is not read again. Its rows get their new statuses from the events. */
function patchRows(): void {
  const seen = statuses
  if (seen.size === 0) return
  statuses = new Map()
  queries.setQueriesData<InfiniteData<TaskPage>>({ queryKey: ['tasks'] }, data => {
    if (!data?.pages.some(({ items }) => items.some(({ id }) => seen.has(id)))) return data
    const pages = data.pages.map(page => ({ ...page, items: page.items.map(row => rowWith(row, seen)) }))
    return { ...data, pages }
  })
}

function rowWith(row: ApiTask, seen: typeof statuses): ApiTask {
  const status = seen.get(row.id)
  if (status === undefined || status === row.status) return row
  const { statusReason: _outdated, ...rest } = row
  return { ...rest, status }
}

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

/** Has rounds follow each other for as long as the page is open. `before` runs at the beginning of each. */
function startRounds(before: () => void): void {
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
  return ms !== undefined && age >= ms * (isUntouched() ? UNTOUCHED_FACTOR : 1)
}

let lastTouch = Date.now()

function noteTouch(): void {
  lastTouch = Date.now()
}

/** Events cost nothing, so only a page that has none slows down. */
function isUntouched(): boolean {
  return connection.get() === 'polling' && Date.now() - lastTouch > UNTOUCHED_MS
}
