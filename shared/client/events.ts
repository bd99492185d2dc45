import { targetOf } from '../api/endpoints.ts'
import type { ApiEvent } from '../api/events.ts'
import type { EventType } from '../core/states.ts'
import type { clientProblem, ProblemError } from './problem-error.ts'
import type { pauseFor } from './repetition.ts'
import type { Open } from './send.ts'

export type EventsOptions = {
  /** Continues after this event. @default only events from now on */
  readonly lastEventId?: string
  /** Yields only events of these types. @default all types */
  readonly types?: readonly EventType[]
  /** Yields only events about tasks of these types. @default all task types */
  readonly taskTypes?: readonly string[]
  /** Yields only events about these tasks. @default all tasks */
  readonly taskIds?: readonly string[]
  /** Ends the events when it aborts. @default they do not end */
  readonly signal?: AbortSignal
}

const FIRST_PAUSE_MS = 250
const LAST_PAUSE_MS = 10_000

/** What the client gives to the events, so that a browser loads their code alone. */
type EventTools = {
  readonly open: Open
  readonly pauseFor: typeof pauseFor
  readonly clientProblem: typeof clientProblem
}

/**
 * Yields events as they come, until `signal` aborts. When a connection breaks, it opens another one and continues after the last
 * event that it yielded.
 *
 * @throws ProblemError when the first connection fails, and whenever another one would fail, too: the API refuses, the answer has no
 * events, or a signer or a token fails for another reason than the network. A deployed API always refuses (501).
 */
export async function* followEvents(
  tools: EventTools,
  options: EventsOptions,
): AsyncGenerator<ApiEvent, void, undefined> {
  const { signal } = options
  let { lastEventId } = options
  let isFirst = true
  for (let pause = FIRST_PAUSE_MS; !signal?.aborted; pause = Math.min(pause * 2, LAST_PAUSE_MS)) {
    for await (const { id, data } of connection(tools, options, lastEventId, isFirst)) {
      lastEventId = id ?? lastEventId
      pause = FIRST_PAUSE_MS
      if (data !== undefined) yield eventIn(data, tools)
    }
    isFirst = false
    await tools.pauseFor(pause, signal)
  }
}

/** Yields the messages of one connection until it breaks. @throws ProblemError when another try would fail as well */
async function* connection(
  tools: EventTools,
  { types, taskTypes, taskIds, signal }: EventsOptions,
  lastEventId: string | undefined,
  isFirst: boolean,
): AsyncGenerator<Message, void, undefined> {
  const query = { type: types, taskType: taskTypes, taskId: taskIds }
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
  let isOpen = false
  try {
    const response = await tools.open(targetOf('events'), { query, headers, call: signal && { signal } })
    isOpen = true
    yield* messagesIn(streamIn(response, tools))
  } catch (error) {
    const isFinal = (isFirst && !isOpen) || !mayHeal(error)
    if (isFinal && !signal?.aborted) throw error
  }
}

/** Whether another connection may succeed: this one broke, or the service may answer later. `fetch` throws a TypeError for the network. */
function mayHeal(error: unknown): boolean {
  const { status = 0, code, cause } = error as Partial<ProblemError>
  if (code === 'no-answer') return cause instanceof TypeError
  return code === undefined || code === 'timeout' || status === 429 || (status >= 500 && status !== 501)
}

/** A proxy may answer with a page of its own. */
function streamIn({ headers, body }: Response, tools: EventTools): Response['body'] {
  const type = headers.get('content-type') ?? 'no content type'
  if (type.startsWith('text/event-stream')) return body
  void body?.cancel()
  throw noEvents(tools, `with ${type}`)
}

function eventIn(data: string, tools: EventTools): ApiEvent {
  try {
    return JSON.parse(data)
  } catch (error) {
    throw noEvents(tools, `with the event ${data.slice(0, 100)}`, error)
  }
}

function noEvents({ clientProblem: problem }: EventTools, how: string, cause?: unknown): ProblemError {
  const detail = `GET /v1/events was answered ${how}`
  return problem('bad-answer', { title: 'No answer', status: 0, detail }, cause)
}

type Message = { readonly id?: string; readonly data?: string }

/** Yields the messages of a stream of server-sent events. It skips comments and an incomplete message at the end. */
async function* messagesIn(
  body: ReadableStream<Uint8Array> | null,
): AsyncGenerator<Message, void, undefined> {
  if (!body) return
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader()
  let text = ''
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const blocks = (text + read.value).split(/\r?\n\r?\n/)
      text = blocks.pop() ?? ''
      yield* blocks.map(messageOf)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function messageOf(block: string): Message {
  const fields = block.split(/\r?\n/).map(line => /^(id|data): ?(.*)$/.exec(line))
  const valuesOf = (name: string) => fields.flatMap(field => (field?.[1] === name ? [field[2] ?? ''] : []))
  const [ids, data] = [valuesOf('id'), valuesOf('data')]
  const id = ids.at(-1)
  return { ...(id !== undefined && { id }), ...(data.length > 0 && { data: data.join('\n') }) }
}
