import { type DeadLetter, letterId } from '../../../shared/core/dead-letters.ts'
import { NOW } from './a-task.ts'

/** A dead letter: a dispatch of `resize:a` in revision 3, which its queue delivered ten times. */
export function aLetter(more: Partial<Omit<DeadLetter, 'id'>> = {}): DeadLetter {
  const letter: Omit<DeadLetter, 'id'> = {
    ...{ queue: 'type:resize', messageId: 'm1', sentAt: NOW - 60_000, arrivedAt: NOW },
    ...{ receives: 10, bytes: 100 },
    subject: { kind: 'dispatch', taskId: 'resize:a', born: '01', revision: 3 },
    ...more,
  }
  return { ...letter, id: letterId(letter.queue, letter.sentAt, letter.messageId) }
}
