import * as api from '../../api/index.ts'
import { type PageQuery, pageQuery } from '../../api/scalars.ts'
import { KEY_CHARACTERS_MAX } from '../../core/bounds.ts'
import type { DeadLetter } from '../../core/dead-letters.ts'
import { isLetterId, letterExpiresAt, replayQueueOf, typeOfQueue } from '../../core/dead-letters.ts'
import { FAILURES_SINCE_MS_MAX, HOUR_MS } from '../../core/events/failures.ts'
import { isName } from '../../core/values/text.ts'
import { defined } from '../../core/values/values.ts'
import type { DiagnosticSystem } from '../../runtime/kernel/system.ts'
import { readAttention } from '../../runtime/operate/attention.ts'
import type { Replayed } from '../../runtime/operate/dead-letters.ts'
import { isAfterIn, listDeadLetters, replayDeadLetters } from '../../runtime/operate/dead-letters.ts'
import { FAILURE_COUNTS_MAX, type FailureGroup, readFailures } from '../../runtime/stream/statistics.ts'
import { listWorkers } from '../../runtime/worker/worker.ts'
import type { Answer, Call } from '../operation.ts'
import {
  answerInvalid,
  answerProblem,
  operationOf,
  PAGE_ITEMS_DEFAULT,
  pageByName,
  refuseCursor,
} from '../operation.ts'
import { problem } from '../present/problems.ts'
import { iso, isoOf, showTasks } from '../present/tasks.ts'
import { wantedTypes } from '../requests/publish-requests.ts'
import { explainLetter } from '../why/explain-letter.ts'

const operation = operationOf('Observing')

export const deadLetterOperations = [
  operation({
    name: 'listDeadLetters',
    summary: 'List dead letters',
    description:
      'Lists messages that a queue, the stream or a schedule gave up, by queue, the newest first. Each says what was given up and what replaces it. A task does not wait for a dead letter: the sweeper sends its message again.',
    cost: 'Half a read unit for each 4 KB of dead letters.',
    answers: { 200: { description: 'One page of dead letters.', schema: api.deadLettersPage } },
    query: api.deadLettersQuery,
    handle: handleLetters,
  }),
  operation({
    name: 'replayDeadLetters',
    isAttending: true,
    summary: 'Send up to 100 dead letters again',
    description: 'Each dead letter has its own result: by `ids` in their order, by `queue` the newest first.',
    answers: { 200: { description: 'The results.', schema: api.replayAnswer } },
    body: api.replayBody,
    handle: handleReplay,
  }),
  operation({
    name: 'attention',
    summary: 'Show what waits for an operator',
    description:
      'Shows halted tasks, which an operator must decide about, the queues that gave messages up, and what callers last did about such things. Each kind is bounded.',
    cost: '3 read units, half a unit for each halted task, and half a unit for each 4 KB of dead letters.',
    answers: { 200: { description: 'What waits, and what was done.', schema: api.attentionAnswer } },
    handle: handleAttention,
  }),
]

async function handleAttention(call: Call<unknown, unknown, DiagnosticSystem>): Promise<Answer> {
  const { halted, haltedCount, queues, moreDeadLetters, actions } = await readAttention(call.system)
  const body = {
    halted: await showTasks(call, halted),
    haltedCount,
    deadLetters: queues.map(([queue, letters]) => ({
      queue,
      count: letters.length,
      replayable: letters.filter(letter => replayQueueOf(letter) !== undefined).length,
      lastAt: iso(Math.max(...letters.map(({ arrivedAt }) => arrivedAt))),
    })),
    moreDeadLetters,
    actions: actions.map(action => ({ ...action, at: iso(action.at) })),
  }
  return { status: 200, body }
}

async function handleLetters(call: Call<api.DeadLettersQuery, unknown, DiagnosticSystem>): Promise<Answer> {
  const { system, query } = call
  const { queue, limit = PAGE_ITEMS_DEFAULT, cursor } = query
  const after = idIn(cursor)
  if (isForeign(queue, cursor, after)) return answerInvalid('cursor', WRONG_CURSOR)
  const page = await listDeadLetters(system, { ...defined({ queue, after }), limit })
  const items = page.letters.map(letter => presentLetter(letter, system.clock.now()))
  return { status: 200, body: { items, ...cursorOf(page.next) } }
}

async function handleReplay(call: Call<unknown, api.ReplayBody, DiagnosticSystem>): Promise<Answer> {
  const { system, body, principal } = call
  const { ids, queue, cursor } = body
  if ((ids === undefined) === (queue === undefined)) return answerInvalid('', 'must have either ids or queue')
  const after = idIn(cursor)
  if (cursor !== undefined && (queue === undefined || isForeign(queue, cursor, after)))
    return answerInvalid('cursor', WRONG_CURSOR)
  const page =
    queue === undefined
      ? undefined
      : await listDeadLetters(system, { ...defined({ queue, after }), limit: api.REPLAYED_LETTERS_MAX })
  const chosen = page ? page.letters.map(({ id }) => id) : [...new Set(ids)]
  const replayed = await replayDeadLetters(system, chosen)
  const sent = replayed.filter(({ outcome }) => outcome === 'sent').length
  system.log.info('dead letters were sent again', { by: principal, sent, of: chosen.length })
  return { status: 200, body: { results: replayed.map(resultOf), ...cursorOf(page?.next) } }
}

function resultOf(one: Replayed): {
  readonly id: string
  readonly status: number
  readonly problem?: api.Problem
} {
  const refusal = refusalOf(one)
  return { id: one.id, status: refusal?.status ?? 200, ...(refusal && { problem: refusal }) }
}

function refusalOf(one: Replayed): api.Problem | undefined {
  switch (one.outcome) {
    case 'sent':
      return undefined
    case 'unknown':
      return problem('not-found', `there is no dead letter ${one.id}: it was sent again, or it has expired`)
    case 'impossible':
      return problem('conflict', `${one.id} cannot be sent again: ${one.reason}`)
    case 'failed':
      return problem('unavailable', `${one.id} was not sent: ${one.reason}; try again`)
  }
}

const WRONG_CURSOR = 'must be a nextCursor of this list'

/** The id in a cursor; undefined when the text is not a cursor. */
function idIn(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined
  const id = Buffer.from(cursor, 'base64url').toString()
  return isLetterId(id) ? id : undefined
}

function isForeign(queue?: string, cursor?: string, after?: string): boolean {
  return cursor !== undefined && (after === undefined || !isAfterIn(queue, after))
}

function cursorOf(next: string | undefined): { readonly nextCursor?: string } {
  return next === undefined ? {} : { nextCursor: Buffer.from(next).toString('base64url') }
}

/** A dead letter as the API shows it: without its body, and with a sentence. */
function presentLetter(letter: DeadLetter, now: number): api.ApiDeadLetter {
  const { id, queue, subject, sentAt, arrivedAt, receives, bytes, error } = letter
  return {
    ...{ id, queue, kind: subject.kind },
    ...namesIn(letter),
    ...{ sentAt: iso(sentAt), arrivedAt: iso(arrivedAt), expiresAt: iso(letterExpiresAt(letter)) },
    ...{ receives, bytes, replayable: replayQueueOf(letter) !== undefined },
    ...defined({ error }),
    ...explainLetter(letter, now),
  }
}

function namesIn({ subject, queue }: DeadLetter): Pick<api.ApiDeadLetter, 'taskId' | 'canvasId' | 'type'> {
  const taskId = 'taskId' in subject ? subject.taskId : undefined
  const canvasId = subject.kind === 'canvas' ? subject.canvasId : undefined
  const type = subject.kind === 'job' ? subject.type : typeOfQueue(queue)
  return defined({ taskId, canvasId, type })
}

export const serviceOperations = [
  operationOf('Service')({
    name: 'health',
    summary: 'Check that the API answers',
    description: 'Reads nothing from the table.',
    answers: { 200: { description: 'The API answers.', schema: api.healthAnswer } },
    handle: async ({ version }) => ({ status: 200, body: { status: 'ok', version } }),
  }),
  operationOf('Service')({
    name: 'openapi',
    summary: 'Get this document',
    answers: { 200: { description: 'This document.', schema: api.descriptionAnswer } },
    handle: async ({ description }) => ({ status: 200, body: await description() }),
  }),
]

const HINT =
  "server-sent events are for the local system; here events go to the system's EventBridge bus (output EventBusName): add a rule with source 'baton' to it, and register types with events: true"

const SINCE_DEFAULT_MS = 24 * HOUR_MS

export const observingOperations = [
  operation({
    name: 'listFailures',
    summary: 'Group failures by type and error',
    description:
      'Shows why tasks fail: groups of one type and one error, the most frequent first. Numbers, ids and quoted texts in the error are masked by `#`. A failure shows within some seconds. More than 5,000 hourly counts are refused with 400: give a type or a later `since`.',
    cost: '1 read unit per 4 KB of types, and half a unit for each type and for each 13 hourly counts of it; at most some 190 units.',
    answers: { 200: { description: 'One page of groups.', schema: api.failuresPage } },
    problems: ['unknown-type'],
    query: api.failuresQuery,
    handle: handleFailures,
  }),
  operation({
    name: 'listWorkers',
    summary: 'List workers',
    description:
      'Lists workers by their ids: those that are there, and for a day those that have stopped or died. The Lambda functions of a type are one entry.',
    cost: '1 read unit per 4 KB of workers, some 200 bytes each, at least 2 units.',
    answers: { 200: { description: 'One page of workers.', schema: api.workerPage } },
    query: pageQuery,
    handle: handleWorkers,
  }),
  operation({
    name: 'events',
    summary: 'Follow events',
    description:
      "Streams events as server-sent events: only the local system does so. A deployed API answers 501, because there the events go to the system's bus of EventBridge. The header `Last-Event-ID`, or `lastEventId`, resumes after an event.",
    answers: {
      200: {
        description:
          'In the local system: one message per event, with its `id`, its type as `event`, and JSON as `data`.',
        contentType: 'text/event-stream',
      },
    },
    problems: ['not-here'],
    query: api.eventsQuery,
    handle: async () => answerProblem(problem('not-here', HINT)),
  }),
]

async function handleFailures({ system, query }: Call<api.FailuresQuery, unknown>): Promise<Answer> {
  const { type = [], limit = PAGE_ITEMS_DEFAULT, cursor = '0' } = query
  const now = system.clock.now()
  const since = query.since === undefined ? now - SINCE_DEFAULT_MS : Date.parse(query.since)
  const wanted = await wantedTypes(system, type)
  if (!Array.isArray(wanted)) return answerProblem(wanted)
  if (since < now - FAILURES_SINCE_MS_MAX) return answerInvalid('since', 'must be at most 7 days ago')
  if (!/^\d{1,4}$/.test(cursor)) return answerInvalid('cursor', 'must be a nextCursor of this list')
  const groups = await readFailures(system, wanted, since)
  if (!groups) {
    const message = `must be later, or give a type: there are more than ${FAILURE_COUNTS_MAX} hourly counts to add up`
    return answerInvalid('since', message)
  }
  const end = Number(cursor) + limit
  const items = groups.slice(Number(cursor), end).map(presentGroup)
  return { status: 200, body: { items, ...(end < groups.length && { nextCursor: String(end) }) } }
}

function presentGroup({ firstAt, lastAt, hours, ...group }: FailureGroup): api.ApiFailureGroup {
  const shownHours = hours.map(({ hour, count }) => ({ at: iso(hour), count }))
  return { ...group, firstAt: iso(firstAt), lastAt: iso(lastAt), hours: shownHours }
}

async function handleWorkers({ system, query }: Call<PageQuery, unknown>): Promise<Answer> {
  const isId = (text: string) => isName(text, KEY_CHARACTERS_MAX)
  const page = pageByName(await listWorkers(system), query, ({ id }) => id, isId)
  if (!page) return refuseCursor()
  const items = page.items.map(one =>
    defined({ ...one, lastSeen: isoOf(one.lastSeen), stoppedAt: isoOf(one.stoppedAt) }),
  )
  return { status: 200, body: { ...page, items } }
}
