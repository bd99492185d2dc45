import { prove, takeEarly } from './early.ts'
import { createStore } from './store.ts'

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
  if (isStream && whole === 'live') become('connecting')
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

function become(next: Connection): void {
  whole = next
  if (connection.get() !== 'broken') connection.set(next)
}
