/**
 * Dead letters: the messages that a queue, the table's stream or EventBridge Scheduler has given up.
 *
 * What happens to one. SQS, Lambda and Scheduler put it into the one dead-letter queue. Within a minute the sweeper writes it into the
 * table, with its whole body, and leaves a note about its task (`collectDeadLetters`). Only then it deletes the message. Callers list the
 * letters (`listDeadLetters`), and send them again (`replayDeadLetters`). A letter is removed when its message is sent again, and after
 * 14 days.
 *
 * What can go wrong. A sweeper that dies between its write and the deletion receives the message again: it is the same letter, because
 * its id follows from the message. A replay that dies between the send and the removal keeps the letter, and may be repeated: every
 * message may arrive twice, at any age.
 *
 * What the note is for. It says why the task waits, as long as nothing has changed the task since the message was sent. It is an item of
 * its own, so it costs no write of the head, and never conflicts with the work on the task.
 */

import type { DeadLetter } from '../../core/dead-letters.ts'
import { idsOfQueue, letterId, lostMessageOf, replayQueueOf } from '../../core/dead-letters.ts'
import { isItemFault, messageOf, textBytes } from '../../core/values/values.ts'
import type { ArrivedLetter, DeadLetterQueue } from '../../ports/messages.ts'
import { sideBySide } from '../kernel/heads.ts'
import type { DiagnosticSystem } from '../kernel/system.ts'

const WRITES_AT_ONCE_MAX = 10
/** Bodies have up to 1 MiB, so few are held in memory at a time. */
const REPLAYS_AT_ONCE = 10

type CollectingSystem = Pick<DiagnosticSystem, 'deadLetters' | 'clock' | 'log'>

/**
 * Moves all messages from the dead-letter queue into the table, until the queue is empty or `stopAt` has come. A message that cannot be
 * written stays in the queue. Returns how many were moved.
 *
 * @throws BatonError `unavailable` when the queue does not answer.
 */
export async function collectDeadLetters(
  system: CollectingSystem,
  queue: DeadLetterQueue,
  stopAt: number,
): Promise<number> {
  let moved = 0
  while (system.clock.now() < stopAt) {
    const arrived = await queue.receive()
    if (arrived.length === 0) return moved
    const kept = await sideBySide(arrived, WRITES_AT_ONCE_MAX, one => keep(system, one))
    const written = arrived.filter((_, nth) => kept[nth])
    await queue.remove(written)
    moved += written.length
    // What cannot be written would only arrive again.
    if (written.length === 0) return moved
  }
  return moved
}

/** Writes one message into the table, and the note about its task. False when that failed. */
async function keep({ deadLetters, clock, log }: CollectingSystem, arrived: ArrivedLetter): Promise<boolean> {
  const { body, ...rest } = arrived
  const letter = letterOf(arrived, clock.now())
  try {
    await deadLetters.put(letter, body)
    const lost = lostMessageOf(letter)
    if (lost) await deadLetters.note(lost).catch(error => ignoreItemFault(error, letter, log))
    log.warn('a message was given up', { letterId: letter.id, queue: letter.queue, subject: rest.subject })
    return true
  } catch (error) {
    log.error('a dead letter was not stored; it stays in its queue', { error, letterId: letter.id })
    return false
  }
}

/** A note that can never be stored, of a message that no code of ours made, holds back no letter. */
function ignoreItemFault(error: unknown, { id }: DeadLetter, log: DiagnosticSystem['log']): void {
  if (!isItemFault(error)) throw error
  log.warn('the note of a dead letter cannot be stored with its task', { error, letterId: id })
}

function letterOf(arrived: ArrivedLetter, now: number): DeadLetter {
  const { messageId, queue, subject, sentAt, receives, body, error } = arrived
  return {
    ...{ id: letterId(queue, sentAt, messageId), queue, messageId, subject, sentAt, receives },
    ...{ arrivedAt: now, bytes: textBytes(body) },
    ...(error !== undefined && { error }),
  }
}

/**
 * Reads one page of dead letters, of one queue or of all: by queue, and within a queue the newest first. `next` is the id after which the
 * next page begins. A letter costs half a read unit for each 4 KB, of which a short body takes up to 2.
 */
export async function listDeadLetters(
  { deadLetters }: Pick<DiagnosticSystem, 'deadLetters'>,
  query: { readonly queue?: string; readonly after?: string; readonly limit: number },
): Promise<{ readonly letters: readonly DeadLetter[]; readonly next?: string }> {
  const { letters, next } = await deadLetters.page({ ...query, limit: query.limit + 1 })
  const shown = letters.slice(0, query.limit)
  const last = letters.length > query.limit ? shown.at(-1)?.id : next
  return { letters: shown, ...(last !== undefined && { next: last }) }
}

/** Whether a page of this queue can begin after this id. */
export function isAfterIn(queue: string | undefined, after: string): boolean {
  return queue === undefined || after.startsWith(idsOfQueue(queue))
}

export type Replayed = { readonly id: string } & (
  | { readonly outcome: 'sent' }
  /** There is no such letter. */
  | { readonly outcome: 'unknown' }
  /** `impossible`: it can never be sent again. `failed`: it was not sent now, and may be sent later. */
  | { readonly outcome: 'impossible' | 'failed'; readonly reason: string }
)

/** Sends these dead letters again to the queues that gave them up, and removes them. The outcomes are in the order of the ids. */
export async function replayDeadLetters(
  system: Pick<DiagnosticSystem, 'deadLetters' | 'resender' | 'log'>,
  ids: readonly string[],
): Promise<Replayed[]> {
  return sideBySide(ids, REPLAYS_AT_ONCE, id => replay(system, id))
}

async function replay(
  { deadLetters, resender, log }: Pick<DiagnosticSystem, 'deadLetters' | 'resender' | 'log'>,
  id: string,
): Promise<Replayed> {
  const found = await deadLetters.get(id).catch(messageOf)
  if (typeof found === 'string') return { id, outcome: 'failed', reason: found }
  if (!found) return { id, outcome: 'unknown' }
  const { letter, body } = found
  const queue = replayQueueOf(letter)
  if (queue === undefined) return { id, outcome: 'impossible', reason: reasonFor(letter) }
  const [failure] = await resender.sendAgain([{ queue, body }])
  if (failure) return { id, outcome: failure.transient ? 'failed' : 'impossible', reason: failure.reason }
  // The message is sent. A letter that stays may be sent again without harm.
  await deadLetters.remove(letter).catch(error => {
    log.warn('a dead letter was sent again, and is still listed', { error, letterId: id })
  })
  return { id, outcome: 'sent' }
}

function reasonFor({ subject, queue }: DeadLetter): string {
  if (subject.kind === 'changes') return 'it has the position of the changes in the stream, not the changes'
  if (subject.kind === 'round') return 'the next round of the sweeper begins by itself'
  return queue === 'unknown' ? 'its queue is not known' : 'it belongs to no queue'
}
