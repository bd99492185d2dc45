import * as z from 'zod'
import { DEAD_LETTER_KINDS, SYSTEM_QUEUES } from '../../core/states.ts'
import { problemAnswer } from '../problems.ts'
import { count, cursor, limit, optional, pageOf, shownTime, strict } from '../scalars.ts'
import type { TypeOf } from '../type-of.ts'

/** Dead letters: messages that a queue, the table's stream or EventBridge Scheduler has given up. */

/** One answer sends at most this many dead letters again. */
export const REPLAYED_LETTERS_MAX = 100
const LETTER_ID_CHARACTERS_MAX = 250

const QUEUE = new RegExp(`^(${SYSTEM_QUEUES.join('|')}|type:[A-Za-z0-9._-]{1,100})$`)

const queue = z
  .string()
  .regex(QUEUE, `must be one of ${SYSTEM_QUEUES.join(', ')}, or type: and the name of a type`)
  .describe(
    'The queue that gave the message up: `wake`, `jobs`, `type:` and the name of a type, `stream` for the planner, `schedules` for EventBridge Scheduler, or `unknown`.',
  )

export const deadLettersQuery = strict({
  /** The dead letters of this queue; those of every queue when left out. */
  queue: optional(queue),
  limit: optional(limit),
  cursor: optional(cursor),
})

export type DeadLettersQuery = TypeOf<typeof deadLettersQuery>

const deadLetter = z
  .object({
    id: z.string().describe('The id, by which the dead letter is sent again.'),
    queue: z.string().describe('The queue that gave the message up.'),
    kind: z.enum(DEAD_LETTER_KINDS).describe('What the message was about.'),
    /** The task that the message names, or the first one. */
    taskId: optional(z.string()).describe('The task that the message names, or the first one.'),
    canvasId: optional(z.string()).describe('The canvas that the message was to continue.'),
    /** The type whose workers were to take the task, or whose job was to continue. */
    type: optional(z.string()).describe(
      'The type whose workers were to take the task, or whose job was to continue.',
    ),
    sentAt: shownTime.describe('When the message was sent first.'),
    arrivedAt: shownTime.describe('When the sweeper found it, within a minute after it was given up.'),
    expiresAt: shownTime.describe('When the dead letter is deleted: 14 days after it arrived.'),
    receives: count.describe(
      'How often its queue delivered it; 0 when a service gave it up before a queue delivered it.',
    ),
    bytes: count.describe('The size of the message in bytes of UTF-8.'),
    error: optional(z.string()).describe('What the service that gave it up said about the last failure.'),
    replayable: z.boolean().describe('Whether it can be sent again.'),
    sentence: z.string().describe('One sentence: what was given up, when, and what replaces it.'),
    next: z.string().describe('What a caller can do.'),
  })
  .meta({ id: 'DeadLetter' })

export type ApiDeadLetter = TypeOf<typeof deadLetter>

export const deadLettersPage = pageOf(deadLetter)

/** Either `ids` or `queue` is given. */
export const replayBody = strict({
  /** The dead letters that are sent again. */
  ids: optional(
    z.array(z.string().min(1).max(LETTER_ID_CHARACTERS_MAX)).min(1).max(REPLAYED_LETTERS_MAX),
  ).describe('The dead letters that are sent again. Either these or a queue must be given.'),
  queue: optional(queue).describe(
    'Sends the newest dead letters of this queue again, up to 100. Either this or ids must be given.',
  ),
  /** With a queue: the `nextCursor` of the answer before. */
  cursor: optional(cursor).describe('With a queue: the nextCursor of the answer before.'),
})

export type ReplayBody = TypeOf<typeof replayBody>

const replayResult = z.object({
  id: z.string(),
  /** 200: sent. 404: there is no such dead letter. 409: it can never be sent again. 503: try again. */
  status: z
    .int()
    .describe(
      '200: sent again. 404: there is no such dead letter. 409: it can never be sent again. 503: try again.',
    ),
  problem: optional(problemAnswer),
})

export const replayAnswer = z.object({
  results: z.array(replayResult).describe('The results, in the order of the ids or of the list.'),
  nextCursor: optional(z.string()).describe('Set when the queue has more dead letters.'),
})

export type ReplayAnswer = TypeOf<typeof replayAnswer>
