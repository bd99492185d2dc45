import { liveRuns, type Task } from '../task/task.ts'
import { type DeadLetter, letterExpiresAt } from './dead-letters.ts'

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
