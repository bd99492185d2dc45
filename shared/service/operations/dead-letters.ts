import {
  type ApiDeadLetter,
  type DeadLettersQuery,
  deadLettersPage,
  deadLettersQuery,
  REPLAYED_LETTERS_MAX,
  type ReplayBody,
  replayAnswer,
  replayBody,
} from '../../api/diagnosis/dead-letters.ts'
import type { Problem } from '../../api/problems.ts'
import {
  type DeadLetter,
  isLetterId,
  letterExpiresAt,
  replayQueueOf,
  typeOfQueue,
} from '../../core/dead-letters/dead-letters.ts'
import { defined } from '../../core/values/json.ts'
import type { DiagnosticSystem } from '../../runtime/kernel/system.ts'
import {
  isAfterIn,
  listDeadLetters,
  type Replayed,
  replayDeadLetters,
} from '../../runtime/operate/dead-letters.ts'
import { type Answer, answerProblem, type Call, operation } from '../operation.ts'
import { iso } from '../present/iso.ts'
import { invalid, problem } from '../present/problems.ts'
import { explainLetter } from '../why/explain-letter.ts'

const DEFAULT_LIMIT = 20

export const deadLetterOperations = [
  operation({
    name: 'listDeadLetters',
    tag: 'Observing',
    summary: 'List dead letters',
    description:
      'Lists messages that a queue, the stream or a schedule gave up, by queue, the newest first. Each says what was given up and what replaces it. A task does not wait for a dead letter: the sweeper sends its message again.',
    cost: 'Half a read unit for each 4 KB of dead letters.',
    answers: { 200: { description: 'One page of dead letters.', schema: deadLettersPage } },
    query: deadLettersQuery,
    handle: handleList,
  }),
  operation({
    name: 'replayDeadLetters',
    tag: 'Observing',
    summary: 'Send up to 100 dead letters again',
    description: 'Each dead letter has its own result: by `ids` in their order, by `queue` the newest first.',
    answers: { 200: { description: 'The results.', schema: replayAnswer } },
    body: replayBody,
    handle: handleReplay,
  }),
]

async function handleList({
  system,
  query,
}: Call<DeadLettersQuery, unknown, DiagnosticSystem>): Promise<Answer> {
  const { queue, limit = DEFAULT_LIMIT, cursor } = query
  const after = idIn(cursor)
  if (isForeign(queue, cursor, after)) return refused('cursor', WRONG_CURSOR)
  const page = await listDeadLetters(system, { ...placeOf(queue, after), limit })
  const items = page.letters.map(letter => presentLetter(letter, system.clock.now()))
  return { status: 200, body: { items, ...cursorOf(page.next) } }
}

async function handleReplay({
  system,
  body,
  principal,
}: Call<unknown, ReplayBody, DiagnosticSystem>): Promise<Answer> {
  const { ids, queue, cursor } = body
  if ((ids === undefined) === (queue === undefined)) return refused('', 'must have either ids or queue')
  const after = idIn(cursor)
  if (cursor !== undefined && (queue === undefined || isForeign(queue, cursor, after)))
    return refused('cursor', WRONG_CURSOR)
  const page =
    queue === undefined
      ? undefined
      : await listDeadLetters(system, { ...placeOf(queue, after), limit: REPLAYED_LETTERS_MAX })
  const chosen = page ? page.letters.map(({ id }) => id) : [...new Set(ids)]
  const replayed = await replayDeadLetters(system, chosen)
  const sent = replayed.filter(({ outcome }) => outcome === 'sent').length
  system.log.info('dead letters were sent again', { by: principal, sent, of: chosen.length })
  return { status: 200, body: { results: replayed.map(resultOf), ...cursorOf(page?.next) } }
}

function resultOf(one: Replayed): {
  readonly id: string
  readonly status: number
  readonly problem?: Problem
} {
  const refusal = refusalOf(one)
  return { id: one.id, status: refusal?.status ?? 200, ...(refusal && { problem: refusal }) }
}

function refusalOf(one: Replayed): Problem | undefined {
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

/** The id in a cursor; undefined when the text is no cursor. */
function idIn(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined
  const id = Buffer.from(cursor, 'base64url').toString()
  return isLetterId(id) ? id : undefined
}

function isForeign(
  queue: string | undefined,
  cursor: string | undefined,
  after: string | undefined,
): boolean {
  return cursor !== undefined && (after === undefined || !isAfterIn(queue, after))
}

function placeOf(queue: string | undefined, after: string | undefined) {
  return { ...(queue !== undefined && { queue }), ...(after !== undefined && { after }) }
}

function cursorOf(next: string | undefined): { readonly nextCursor?: string } {
  return next === undefined ? {} : { nextCursor: Buffer.from(next).toString('base64url') }
}

function refused(path: string, message: string): Answer {
  return answerProblem(invalid([{ path, message }]))
}

/** A dead letter as the API shows it: without its body, and with a sentence. */
function presentLetter(letter: DeadLetter, now: number): ApiDeadLetter {
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

function namesIn({ subject, queue }: DeadLetter): Pick<ApiDeadLetter, 'taskId' | 'canvasId' | 'type'> {
  const taskId = 'taskId' in subject ? subject.taskId : undefined
  const canvasId = subject.kind === 'canvas' ? subject.canvasId : undefined
  const type = subject.kind === 'job' ? subject.type : typeOfQueue(queue)
  return defined({ taskId, canvasId, type })
}
