/**
 * Dead letters: messages that a queue, the table's stream or EventBridge Scheduler has given up.
 *
 * All of them arrive in one dead-letter queue. The sweeper empties it every minute into the table, where callers list them and send
 * them again (`runtime/operate/dead-letters.ts`). A lost message loses no task: the table says what must happen, and the sweeper replaces the
 * message. A dead letter says that something is wrong, and sending it again saves the wait for the sweeper.
 *
 * This file says what a dead letter is and which of them can be sent again. `why/explain-letter.ts` writes its sentences. The end of
 * the file says when a dead letter is the reason why a task waits.
 */

import type { SYSTEM_QUEUES } from './states.ts'
import { liveRuns, type Task } from './task/task.ts'

const DAY_MS = 24 * 3_600_000
/** A dead letter is kept this long after it arrived in the table: as long as SQS keeps a message at most. */
const DEAD_LETTERS_KEPT_MS = 14 * DAY_MS

/** The queues of the types are named `type:<type>`. No type's name has a colon. */
const TYPE_QUEUE_PREFIX = 'type:'

/**
 * Where a message was given up: the queue of a type, the wake queue, the jobs queue, the planner's stream, or EventBridge Scheduler.
 * `unknown` when neither SQS nor the message names it.
 */
export type LetterQueue = (typeof SYSTEM_QUEUES)[number] | `type:${string}`

export function typeQueue(type: string): LetterQueue {
  return `${TYPE_QUEUE_PREFIX}${type}`
}

/** The type that the queue serves; undefined for a queue of the system. */
export function typeOfQueue(queue: string): string | undefined {
  return queue.startsWith(TYPE_QUEUE_PREFIX) ? queue.slice(TYPE_QUEUE_PREFIX.length) : undefined
}

export type LetterSubject =
  /** Announces to workers that a task can be claimed. Without `born` and `revision` when the code does not know its form. */
  | {
      readonly kind: 'dispatch'
      readonly taskId: string
      readonly born?: string
      readonly revision?: number
    }
  | { readonly kind: 'look'; readonly taskId: string; readonly born: string; readonly revision: number }
  | { readonly kind: 'limit'; readonly limit: string }
  /** The tasks that fall due in the minute that begins at `dueAt`, in ms. */
  | { readonly kind: 'minute'; readonly dueAt: number }
  | { readonly kind: 'events'; readonly count: number; readonly taskId?: string }
  | { readonly kind: 'canvas'; readonly canvasId: string }
  | { readonly kind: 'job'; readonly type: string; readonly job: string }
  /** A batch of changes that the planner did not read. The message has their position in the stream, not the changes. */
  | { readonly kind: 'changes'; readonly count: number; readonly shardId: string }
  /** A round of the sweeper that EventBridge Scheduler could not start. */
  | { readonly kind: 'round' }
  | { readonly kind: 'unreadable' }

/** A dead letter without its body. Times in ms. */
export type DeadLetter = {
  readonly id: string
  readonly queue: LetterQueue
  readonly messageId: string
  readonly subject: LetterSubject
  readonly sentAt: number
  /** When the sweeper found it. */
  readonly arrivedAt: number
  /** How often its queue delivered it; 0 when a service sent it to the dead-letter queue itself. */
  readonly receives: number
  /** The size of its body in UTF-8. */
  readonly bytes: number
  /** What the service that gave it up said about the last failure. */
  readonly error?: string
}

const SEPARATOR = '~'
const TIME_DIGITS = 14
const ID = /^(?:[a-z]+|type:[A-Za-z0-9._-]{1,100})~\d{14}~[A-Za-z0-9-]{1,100}$/

/** The id of a dead letter. It sorts by queue and time. A message that arrives twice has one id. */
export function letterId(queue: LetterQueue, sentAt: number, messageId: string): string {
  return [queue, String(sentAt).padStart(TIME_DIGITS, '0'), messageId].join(SEPARATOR)
}

export function isLetterId(text: string): boolean {
  return ID.test(text)
}

/** The beginning of the ids of one queue. */
export function idsOfQueue(queue: string): string {
  return queue + SEPARATOR
}

/** The queue to which a dead letter can be sent again: of a type, the wake queue or the jobs queue. */
export type ReplayQueue = 'wake' | 'jobs' | `type:${string}`

/**
 * The queue to which the dead letter can be sent again. Undefined when that is not possible: a stream's message has no changes, a round
 * of the sweeper is not a message of a queue, and an unknown queue cannot be found. The schedule of a far minute sends to the wake queue.
 */
export function replayQueueOf({
  queue,
  subject,
}: Pick<DeadLetter, 'queue' | 'subject'>): ReplayQueue | undefined {
  if (queue === 'schedules') return subject.kind === 'minute' ? 'wake' : undefined
  return queue === 'stream' || queue === 'unknown' ? undefined : queue
}

export function letterExpiresAt({ arrivedAt }: Pick<DeadLetter, 'arrivedAt'>): number {
  return arrivedAt + DEAD_LETTERS_KEPT_MS
}

/**
 * A note about a task: the message that it waits for was given up. It is not a part of the head, so it never meets the writes of the
 * machinery. It holds as long as the task has the same birth and revision. Any change of the task, such as a claim, makes it void.
 * Times in ms.
 */
export type LostMessage = {
  readonly taskId: string
  readonly born: string
  readonly revision: number
  readonly letterId: string
  readonly kind: 'dispatch' | 'look'
  readonly at: number
  readonly receives: number
  readonly expiresAt: number
}

/** The note that a dead letter leaves about its task. Undefined when the message names no revision of a task. */
export function lostMessageOf(letter: DeadLetter): LostMessage | undefined {
  const { subject, id, arrivedAt, receives } = letter
  if (subject.kind !== 'dispatch' && subject.kind !== 'look') return undefined
  const { kind, taskId, born, revision } = subject
  if (born === undefined || revision === undefined) return undefined
  return {
    ...{ taskId, born, revision, kind, receives },
    ...{ letterId: id, at: arrivedAt, expiresAt: letterExpiresAt(letter) },
  }
}

/** Whether a note about the task can be the reason why it does not continue: it is due, or its run is over. */
export function canMissMessage(task: Task, now: number): boolean {
  if (task.state !== 'open' || task.dueAt > now) return false
  return liveRuns(task).every(({ leaseUntil }) => leaseUntil <= now)
}

/** Whether the message of the note is the one that the task waits for. */
export function isMissing(note: LostMessage | undefined, task: Task, now: number): note is LostMessage {
  if (!note || note.expiresAt <= now) return false
  if (note.born !== task.born || note.revision !== task.revision) return false
  // A live run whose lease has ended waits for a look. Every other task waits for a dispatch, or for a look that leads to one.
  return canMissMessage(task, now) && (note.kind === 'look' || liveRuns(task).length === 0)
}
