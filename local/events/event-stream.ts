import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpAnswer, RequestHandler } from '../../loopback/loopback.ts'
import { problemAnswer, send, targetOf } from '../../loopback/loopback.ts'
import { EVENT_TYPES } from '../../shared/core/states.ts'
import { EVENTS_PATH } from '../http/event.ts'

const READERS_MAX = 100
/** The stream sends a comment this often, because proxies cut connections that are silent for a minute. */
const KEEP_ALIVE_MS = 15_000
/** The time after which a browser connects again. */
const RETRY_MS = 1_000
const READ_EVENTS_MAX = 100

/**
 * `GET /v1/events`: a stream of server-sent events. A reader that names the last event it has seen continues after that event.
 * Each reader has its own pace. A reader that is too slow misses events, and the stream says so.
 */
export function createEventStream(log: EventLog): RequestHandler {
  let readers = 0
  return (request, response) => {
    const { method, path } = targetOf(request)
    if (method !== 'GET' || path !== EVENTS_PATH) return false
    const subscription = readSubscription(request)
    if ('problems' in subscription) {
      send(response, invalid(subscription.problems))
    } else if (readers >= READERS_MAX) {
      send(response, crowded)
    } else {
      readers += 1
      follow(log, subscription, response).finally(() => {
        readers -= 1
      })
    }
    return true
  }
}

function invalid(errors: readonly { readonly path: string; readonly message: string }[]): HttpAnswer {
  const detail = errors.map(({ path, message }) => `${path} ${message}`).join('; ')
  return problemAnswer('invalid', 400, 'The request is not valid', detail, { members: { errors } })
}

const crowded = problemAnswer(
  'unavailable',
  503,
  'Too many readers',
  `${READERS_MAX} connections read events already`,
  { headers: { 'retry-after': '5' } },
)

/** Writes events until the reader closes the connection. */
async function follow(log: EventLog, subscription: Subscription, response: ServerResponse): Promise<void> {
  const closed = closingOf(response)
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
  // A reader that loses the connection before its first event continues from this id. No event has the id `none`.
  const last = log.read(log.end() - 1, 1)[0]?.id ?? 'none'
  response.write(`retry: ${RETRY_MS}\nid: ${subscription.lastEventId ?? last}\n\n`)
  const keepingAlive = setInterval(() => {
    if (!response.writableNeedDrain) response.write(': still here\n\n')
  }, KEEP_ALIVE_MS)
  try {
    await writeFrom(log, subscription, response, closed)
  } finally {
    clearInterval(keepingAlive)
    response.end()
  }
}

async function writeFrom(
  log: EventLog,
  subscription: Subscription,
  response: ServerResponse,
  closed: AbortSignal,
): Promise<void> {
  const seen = subscription.lastEventId === undefined ? log.end() - 1 : log.numberOf(subscription.lastEventId)
  if (seen === undefined)
    response.write(': the last event is not kept any more; this begins with the oldest\n\n')
  let next = seen === undefined ? log.oldest() : seen + 1
  while (!closed.aborted) {
    const missed = log.oldest() - next
    if (missed > 0) {
      response.write(`: too slow, ${missed} events were missed\n\n`)
      next += missed
    }
    const events = log.read(next, READ_EVENTS_MAX)
    next += events.length
    const text = events.filter(subscription.wants).map(frameOf).join('')
    if (text !== '') response.write(text)
    if (response.writableNeedDrain) await drained(response, closed)
    else if (events.length === 0) await log.arrival(next, closed)
  }
}

function frameOf({ id, type, json }: LoggedEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`
}

function closingOf(response: ServerResponse): AbortSignal {
  const closing = new AbortController()
  response.once('close', () => closing.abort())
  response.on('error', () => closing.abort())
  return closing.signal
}

async function drained(response: ServerResponse, closed: AbortSignal): Promise<void> {
  await once(response, 'drain', { signal: closed }).catch(() => undefined)
}

/** The events that a reader asks for. */
type Subscription = {
  readonly lastEventId?: string
  wants(event: LoggedEvent): boolean
}

type Problem = { readonly path: string; readonly message: string }

const CONTROL_PROBLEM = {
  path: 'lastEventId',
  message: 'must not contain line breaks or other control characters',
}

/** An id has its own line in the stream. A line break in the id would begin a line that the reader takes for part of an event. */
const CONTROL = /\p{Cc}/u

const PARAMETERS = ['type', 'taskType', 'taskId', 'lastEventId']

/** Reads what a request asks for, or its problems. The header wins over the query: a browser sends it when it connects again. */
function readSubscription(
  request: IncomingMessage,
): Subscription | { readonly problems: readonly Problem[] } {
  const query = new URL(request.url ?? '/', 'http://local').searchParams
  const problems = problemsIn(query)
  if (problems.length > 0) return { problems }
  const [types, taskTypes, taskIds] = ['type', 'taskType', 'taskId'].map(name => query.getAll(name))
  const header = request.headers['last-event-id']
  const lastEventId = typeof header === 'string' && header !== '' ? header : query.get('lastEventId')
  return {
    ...(lastEventId && { lastEventId }),
    wants: ({ type, taskId }) =>
      isAmong(type, types) &&
      isAmong(taskId, taskIds) &&
      isAmong(taskId?.slice(0, taskId.indexOf(':')), taskTypes),
  }
}

function isAmong(value: string | undefined, wanted: readonly string[] = []): boolean {
  return wanted.length === 0 || (value !== undefined && wanted.includes(value))
}

function problemsIn(query: URLSearchParams): Problem[] {
  const unknownNames = [...query.keys()].filter(name => !PARAMETERS.includes(name))
  const types: readonly string[] = EVENT_TYPES
  const unknownTypes = query.getAll('type').filter(type => !types.includes(type))
  return [
    ...unknownNames.map(path => ({
      path,
      message: `is not a parameter here; the parameters are ${PARAMETERS.join(', ')}`,
    })),
    ...(CONTROL.test(query.getAll('lastEventId').join()) ? [CONTROL_PROBLEM] : []),
    ...unknownTypes.map(() => ({ path: 'type', message: `must be one of ${types.join(', ')}` })),
  ]
}

type LoggedEvent = {
  readonly id: string
  readonly type: string
  readonly taskId?: string
  readonly json: string
}

/** The last events, numbered from 0 in the order of their arrival. */
export type EventLog = ReturnType<typeof createEventLog>

export function createEventLog(kept: number) {
  const slots: LoggedEvent[] = []
  const numbers = new Map<string, number>()
  const waiting = new Set<() => void>()
  let end = 0
  const oldest = () => Math.max(0, end - kept)

  return {
    /** Adds an event, unless the log has it already: a planner that reads its stream again publishes events again. */
    append: (event: LoggedEvent) => {
      if (numbers.has(event.id)) return
      const former = slots[end % kept]
      if (former) numbers.delete(former.id)
      slots[end % kept] = event
      numbers.set(event.id, end)
      end += 1
      for (const wake of [...waiting]) wake()
    },
    /** The number of the oldest event in the log. */
    oldest,
    /** The number of the next event. */
    end: () => end,
    /** The event's number; undefined when the log does not have it. */
    numberOf: (id: string) => numbers.get(id),
    /** The events from this number on that the log still has, at most `limit`. */
    read: (from: number, limit: number) => {
      const start = Math.max(from, oldest())
      const count = Math.max(0, Math.min(limit, end - start))
      const found = Array.from({ length: count }, (_, at) => slots[(start + at) % kept])
      return found.filter(event => event !== undefined)
    },
    /** Resolves when the log has an event with this number or a later one, or when `signal` aborts. */
    arrival: (number: number, signal: AbortSignal) => {
      if (end > number || signal.aborted) return Promise.resolve()
      return new Promise<void>(resolve => {
        const done = () => {
          waiting.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        waiting.add(done)
        signal.addEventListener('abort', done, { once: true })
      })
    },
  }
}
