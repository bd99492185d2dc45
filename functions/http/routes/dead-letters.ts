import {
  type DeadLettersQuery,
  deadLettersQuery,
  REPLAYED_LETTERS_MAX,
  type ReplayBody,
  replayBody,
} from '../../../shared/api/diagnosis/dead-letters.ts'
import type { Problem } from '../../../shared/api/problems.ts'
import { isLetterId } from '../../../shared/core/dead-letters/dead-letters.ts'
import { presentLetter } from '../../../shared/present/dead-letters.ts'
import { invalid, problem } from '../../../shared/present/problems.ts'
import {
  isAfterIn,
  listDeadLetters,
  type Replayed,
  replayDeadLetters,
} from '../../../shared/runtime/dead-letters/dead-letters.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

const DEFAULT_LIMIT = 20

export const deadLetterRoutes = [
  route({
    method: 'get',
    path: '/v1/dead-letters',
    operation: 'listDeadLetters',
    query: deadLettersQuery,
    handle: handleList,
  }),
  route({
    method: 'post',
    path: '/v1/dead-letters/replay',
    operation: 'replayDeadLetters',
    body: replayBody,
    handle: handleReplay,
  }),
]

async function handleList({ system, query }: Call<DeadLettersQuery, unknown>): Promise<Answer> {
  const { queue, limit = DEFAULT_LIMIT, cursor } = query
  const after = idIn(cursor)
  if (isForeign(queue, cursor, after)) return refused('cursor', WRONG_CURSOR)
  const page = await listDeadLetters(system, { ...placeOf(queue, after), limit })
  const items = page.letters.map(letter => presentLetter(letter, system.clock.now()))
  return { status: 200, body: { items, ...cursorOf(page.next) } }
}

async function handleReplay({ system, body, principal }: Call<unknown, ReplayBody>): Promise<Answer> {
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
