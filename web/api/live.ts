import type { QueryKey } from '@tanstack/react-query'
import type { ApiEvent } from '../../shared/api/events.ts'
import { baton, isStatus } from './baton.ts'
import { connection, goOnWithoutEvents } from './connection.ts'
import { logEvent } from './event-log.ts'
import { queries, renew } from './queries.ts'
import { watchRefusals } from './refusals.ts'
import { startRounds, touch } from './rounds.ts'
import { patchRows } from './task-rows.ts'

/**
 * Keeps what is shown up to date. One connection reads the events of the system. Each event marks the questions whose answers it
 * changes, and the next round (`rounds.ts`) asks the marked ones that are on screen again. A deployed system has no event stream, and a
 * type may be without events; then the slower pace of `queries.ts` alone applies. A hidden tab reads and asks nothing, and catches up when it is
 * shown.
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
  renewAfterBreaks()
  watchRefusals(queries)
  startRounds(patchSeenRows)
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
    await pause(RECONNECT_MS, signal)
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
  for (const key of keysTouchedBy(event)) touch(key)
  if (event.taskId !== undefined && event.status) statuses.set(event.taskId, event.status)
}

function patchSeenRows(): void {
  patchRows(statuses)
  statuses = new Map()
}

/** The beginnings of the keys of all answers that an event changes. */
function keysTouchedBy({ type, taskId = '' }: ApiEvent): QueryKey[] {
  const [kind] = type.split('.')
  if (kind === 'task')
    return [
      ['task', taskId],
      ['tasks'],
      ['counts'],
      ['activity'],
      ['limits'],
      ['canvas'],
      ['why', taskId],
      ['failures'],
    ]
  if (kind === 'canvas') return [['canvas', taskId]]
  if (kind === 'schedule') return [['schedules']]
  return [['workers']]
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
