import type { Query, QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { ApiEvent } from '../../shared/api/events.ts'
import { ProblemError } from '../../shared/client/problem-error.ts'
import { prove, takeEarly } from './early.ts'

/** A value that outlives the components that show it. */
type Store<Value> = {
  get(): Value
  set(value: Value): void
  subscribe(listener: () => void): () => void
}

export function createStore<Value>(first: Value): Store<Value> {
  let value = first
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set: next => {
      if (Object.is(next, value)) return
      value = next
      for (const listener of listeners) listener()
    },
    subscribe: listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** The present value of a store. The component is drawn again when it changes. */
export function useStore<Value>(store: Store<Value>): Value {
  return useSyncExternalStore(store.subscribe, store.get)
}

const EVENTS_MAX = 1_000
/** Bursts are drawn together. */
const DRAW_MS = 250

/** The newest events since the page was opened, newest first. */
export const eventLog = createStore<readonly ApiEvent[]>([])

let waiting: ApiEvent[] = []
let _drawing: ReturnType<typeof setTimeout> | undefined

export function logEvent(event: ApiEvent): void {
  waiting.push(event)
  _drawing ??= setTimeout(() => {
    _drawing = undefined
    eventLog.set([...waiting.reverse(), ...eventLog.get()].slice(0, EVENTS_MAX))
    waiting = []
  }, DRAW_MS)
}

/**
 * Reports that what is on screen is old. An answer that is shown stays when the same question is refused later, for example because a
 * credential has expired or too many requests were sent. Without a word about it, the page would look as if it were up to date.
 */

/** Why a question on screen was refused when it was asked again. Undefined while each has its newest answer. */
export const refusal = createStore<string | undefined>(undefined)

/** 0 and 503 say that the system does not answer, which has a word of its own. The others are what the API answers by its contract. */
const TOLD_ELSEWHERE: ReadonlySet<number> = new Set([0, 404, 409, 501, 503])

/** Follows the questions of a client for as long as the page is open. */
export function watchRefusals(client: QueryClient): void {
  const cache = client.getQueryCache()
  cache.subscribe(() => refusal.set(refusalIn(cache.getAll())))
}

function refusalIn(all: readonly Query[]): string | undefined {
  const refused = all
    .filter(query => query.isActive() && query.state.data !== undefined && isRefusal(query.state.error))
    .sort((a, b) => b.state.errorUpdatedAt - a.state.errorUpdatedAt)
  const error: unknown = refused[0]?.state.error
  return isRefusal(error) ? error.problem.detail || error.problem.title : undefined
}

function isRefusal(error: unknown): error is ProblemError {
  return error instanceof ProblemError && !TOLD_ELSEWHERE.has(error.status)
}

/**
 * `connecting`: the event stream is not open yet. `live`: by events. `polling`: by asking at a pace. `broken`: the system does not answer,
 * and is tried again.
 */
export type Connection = 'connecting' | 'live' | 'polling' | 'broken'

export const connection = createStore<Connection>('connecting')

const UNAVAILABLE = 503
const FORBIDDEN = 403

/** Whether this page may only read, because `baton dashboard` was started with `--read-only`. Each answer of it says so. */
export const readOnly = createStore(false)

const READ_ONLY_HEADER = 'baton-read-only'

/** What the connection is while the system answers. */
let whole: Connection = 'connecting'

/** Whether the event stream was refused because the request was not signed, or because the reader may not read it. */
export const isStreamForbidden = createStore(false)

/** Says that the system has no event stream. */
export function goOnWithoutEvents(): void {
  whole = 'polling'
  connection.set(whole)
}

/** Sends a request, and shows by its answer whether the system is there. */
export async function watchedFetch(request: Request): Promise<Response> {
  prove(request)
  const isStream = new URL(request.url).pathname === EVENTS_PATH
  // The client opens a stream when it has none: the one before has ended.
  if (isStream && whole === 'live') {
    whole = 'connecting'
    if (connection.get() !== 'broken') connection.set(whole)
  }
  try {
    const response = await (takeEarly(request) ?? fetch(request))
    if (isStream) {
      whole = response.ok ? 'live' : 'polling'
      isStreamForbidden.set(response.status === FORBIDDEN)
    }
    connection.set(response.status === UNAVAILABLE ? 'broken' : whole)
    readOnly.set(response.headers.get(READ_ONLY_HEADER) === 'true')
    return response
  } catch (error) {
    if (!request.signal.aborted) connection.set('broken')
    throw error
  }
}

const EVENTS_PATH = '/v1/events'
