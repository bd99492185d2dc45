import type { IncomingMessage } from 'node:http'
import { EVENT_TYPES } from '../../shared/core/events/event-types.ts'
import type { ToldEvent } from './event-log.ts'

/** What a reader of events asks for. */
export type Wish = {
  /** The last event it has seen. */
  readonly lastEventId?: string
  wants(event: ToldEvent): boolean
}

type Problem = { readonly path: string; readonly message: string }

const CONTROL_PROBLEM = {
  path: 'lastEventId',
  message: 'must not contain line breaks or other control characters',
}

/** An id stands in a line of the stream of its own: a line break in it would begin a line that the reader takes for an event's. */
const CONTROL = /\p{Cc}/u

const PARAMETERS = ['type', 'taskType', 'taskId', 'lastEventId']

/** What a request asks for, or what is wrong with it. The header wins: a browser sends it when it connects again. */
export function readWish(request: IncomingMessage): Wish | { readonly problems: readonly Problem[] } {
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
  const unknown = [...query.keys()].filter(name => !PARAMETERS.includes(name))
  const types: readonly string[] = EVENT_TYPES
  const strange = query.getAll('type').filter(type => !types.includes(type))
  return [
    ...unknown.map(path => ({ path, message: `is no parameter here; there are ${PARAMETERS.join(', ')}` })),
    ...(CONTROL.test(query.getAll('lastEventId').join()) ? [CONTROL_PROBLEM] : []),
    ...strange.map(() => ({ path: 'type', message: `must be one of ${types.join(', ')}` })),
  ]
}
