import * as z from 'zod'
import { BATCH_TASKS_MAX, TYPE_NAME_PATTERN } from '../../core/bounds.ts'
import { DEAD_LETTER_KINDS } from '../../core/states.ts'
import { count, cursor, limit, optional, pageOf, shownTime, strict } from '../scalars.ts'
import type { TypeOf } from '../type-of.ts'

/** Dead letters: messages that their queues have given up, as lists show them, and the request that sends them again. */

/** A type's name stands for its queue. The system's own sources begin with `@`, which no type's name does. */
const queue = z
  .string()
  .regex(
    new RegExp(`${TYPE_NAME_PATTERN}|^@(wake|jobs|schedules|stream|unknown)$`),
    'must be the name of a type, or one of @wake, @jobs, @schedules, @stream, @unknown',
  )
  .meta({ description: 'The name of a type, or one of @wake, @jobs, @schedules, @stream, @unknown' })

const deadLetterId = z
  .string()
  .regex(/^[A-Za-z0-9._@~-]{1,300}$/, 'must be the id of a dead letter, as GET /v1/dead-letters shows it')

export const deadLettersQuery = strict({
  queue: optional(queue),
  limit: optional(limit),
  cursor: optional(cursor),
})

export type DeadLettersQuery = TypeOf<typeof deadLettersQuery>

export const deadLetter = z
  .object({
    id: z.string(),
    /** The type whose queue gave it up, or one of `@wake`, `@jobs`, `@schedules`, `@stream`, `@unknown`. */
    queue: z
      .string()
      .describe(
        'The type whose queue gave it up, or one of `@wake`, `@jobs`, `@schedules`, `@stream`, `@unknown`.',
      ),
    kind: z.enum(DEAD_LETTER_KINDS),
    /** The task, canvas or schedule that the message is about. */
    taskId: optional(z.string()).describe('The task, canvas or schedule that the message is about.'),
    /** What the message asked for, why it was given up, and what replaces it. */
    explanation: z
      .string()
      .describe('What the message asked for, why it was given up, and what replaces it.'),
    /** The error that the service reported with it. Queues report none. */
    error: optional(z.string()).describe('The error that the service reported with it. Queues report none.'),
    /** When the message was sent first. */
    sentAt: shownTime.describe('When the message was sent first.'),
    /** When a receiver got it first, as far as the service says so. */
    firstReceivedAt: optional(shownTime).describe(
      'When a receiver got it first, as far as the service says so.',
    ),
    /** When it was found among the dead letters. */
    foundAt: shownTime.describe('When it was found among the dead letters.'),
    /** How often it was received, the receipt among the dead letters included. */
    receives: count.describe('How often it was received, the receipt among the dead letters included.'),
    /** The size of its body in bytes of UTF-8. */
    bytes: count.describe('The size of its body in bytes of UTF-8.'),
    /** The beginning of its body: at most 1,000 characters. */
    body: z.string().describe('The beginning of its body: at most 1,000 characters.'),
    /** Whether it can be sent again. */
    isReplayable: z.boolean().describe('Whether it can be sent again.'),
    expiresAt: shownTime,
  })
  .meta({ id: 'DeadLetter' })

/** A message that its queue has given up. */
export type ApiDeadLetter = TypeOf<typeof deadLetter>

export const deadLetterPage = pageOf(deadLetter)

export const replayBody = strict({
  ids: optional(z.array(deadLetterId).min(1).max(BATCH_TASKS_MAX)),
  queue: optional(queue),
  /** How many letters of the queue are sent again, oldest first. */
  limit: optional(limit).describe('How many letters of the queue are sent again, oldest first.'),
})

/** Which dead letters are sent again: those of `ids`, or the oldest ones of a `queue`. */
export type ReplayBody = TypeOf<typeof replayBody>

const replayed = z.object({ id: z.string(), queue: z.string(), taskId: optional(z.string()) })

const notReplayed = z.object({
  id: z.string(),
  /** `unknown`: there is no such letter, or it was sent again. `not-replayable`: no queue takes it. `not-sent`: try again. */
  reason: z
    .enum(['unknown', 'not-replayable', 'not-sent'])
    .describe(
      '`unknown`: there is no such letter, or it was sent again. `not-replayable`: no queue takes it. `not-sent`: try again.',
    ),
  detail: z.string(),
})

export const replayAnswer = z
  .object({
    replayed: z.array(replayed),
    notReplayed: z.array(notReplayed),
    /** Set when the queue has more letters than were looked at. */
    more: optional(z.literal(true)).describe('Set when the queue has more letters than were looked at.'),
  })
  .meta({ id: 'Replay' })

export type ReplayAnswer = TypeOf<typeof replayAnswer>
