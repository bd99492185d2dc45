import { listOf, open, optional, strict } from '../../core/rules/compound.ts'
import type { ValueOf } from '../../core/rules/rules.ts'
import { flag, integer, oneOf, text } from '../../core/rules/scalars.ts'
import { DEAD_LETTER_KINDS, SYSTEM_QUEUES } from '../../core/states.ts'
import { problemAnswer } from '../problems.ts'
import { count, cursor, pageOf, pageQuery, shownTime } from '../scalars.ts'

/** Dead letters: messages that a queue, the table's stream or EventBridge Scheduler has given up. */

/** One answer sends at most this many dead letters again. */
export const REPLAYED_LETTERS_MAX = 100
const LETTER_ID_CHARACTERS_MAX = 250

const QUEUE = new RegExp(`^(${SYSTEM_QUEUES.join('|')}|type:[A-Za-z0-9._-]{1,100})$`)

const queue = text(
  `one of ${SYSTEM_QUEUES.join(', ')}, or type: and the name of a type`,
  value => QUEUE.test(value),
  { pattern: QUEUE.source },
)

export const deadLettersQuery = strict({
  /**
   * The queue that gave the messages up: `wake`, `jobs`, `type:` and the name of a type, `stream` for the planner, `schedules` for
   * EventBridge Scheduler, or `unknown`. @default every queue
   */
  queue: optional(queue),
  ...pageQuery.shape,
})

export type DeadLettersQuery = ValueOf<typeof deadLettersQuery>

/** A message that was given up, and what replaces it. */
const deadLetter = open(
  {
    /** The id, by which the dead letter is sent again. */
    id: text(),
    /** The queue that gave the message up. */
    queue: text(),
    /** What the message was about. */
    kind: oneOf(...DEAD_LETTER_KINDS),
    /** The task that the message names, or the first one. */
    taskId: optional(text()),
    /** The canvas that the message was to continue. */
    canvasId: optional(text()),
    /** The type whose workers were to take the task, or whose job was to continue. */
    type: optional(text()),
    /** When the message was sent first. */
    sentAt: shownTime,
    /** When the sweeper found it, usually within a minute after it was given up. */
    arrivedAt: shownTime,
    /** When the dead letter is deleted: 14 days after it arrived. */
    expiresAt: shownTime,
    /** How often its queue delivered it; 0 when a service gave it up before a queue delivered it. */
    receives: count,
    /** The size of the message in bytes of UTF-8. */
    bytes: count,
    /** What the service that gave it up said about the last failure. */
    error: optional(text()),
    /** Whether it can be sent again. */
    replayable: flag(),
    /** One sentence: what was given up, when, and what replaces it. */
    sentence: text(),
    /** What a caller can do. */
    next: text(),
  },
  'DeadLetter',
)

export type ApiDeadLetter = ValueOf<typeof deadLetter>

/** One page of dead letters. */
export const deadLettersPage = pageOf(deadLetter, 'DeadLetterPage')

const letterId = text(
  `text of 1–${LETTER_ID_CHARACTERS_MAX} characters`,
  id => id.length >= 1 && id.length <= LETTER_ID_CHARACTERS_MAX,
  { minLength: 1, maxLength: LETTER_ID_CHARACTERS_MAX },
)

/** Which dead letters are sent again. It has either `ids` or `queue`. */
export const replayBody = strict(
  {
    /** The dead letters that are sent again. Either these or a queue must be given. @default all of `queue` */
    ids: optional(listOf(letterId, { min: 1, max: REPLAYED_LETTERS_MAX })),
    /** Sends the newest dead letters of this queue again, up to 100. Either this or ids must be given. @default those in `ids` */
    queue: optional(queue),
    /** With a queue: the `nextCursor` of the answer before. @default the newest dead letters */
    cursor: optional(cursor),
  },
  'Replay',
)

export type ReplayBody = ValueOf<typeof replayBody>

/** What became of one dead letter. */
const replayResult = open(
  {
    /** The id of the dead letter. */
    id: text(),
    /** 200: sent again. 404: there is no such dead letter. 409: it can never be sent again. 503: try again. */
    status: integer(),
    /** Why it was not sent. */
    problem: optional(problemAnswer),
  },
  'ReplayResult',
)

/** What became of the dead letters that were to be sent again. */
export const replayAnswer = open(
  {
    /** The results, in the order of the ids or of the list. */
    results: listOf(replayResult),
    /** Set when the queue has more dead letters: the `cursor` of the next request. */
    nextCursor: optional(text()),
  },
  'Replayed',
)

export type ReplayAnswer = ValueOf<typeof replayAnswer>
