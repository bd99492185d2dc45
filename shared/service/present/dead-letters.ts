import type { ApiDeadLetter } from '../../api/diagnosis/dead-letters.ts'
import {
  type DeadLetter,
  letterExpiresAt,
  replayQueueOf,
  typeOfQueue,
} from '../../core/dead-letters/dead-letters.ts'
import { defined } from '../../core/values/defined.ts'
import { explainLetter } from '../why/explain-letter.ts'
import { iso } from './iso.ts'

/** A dead letter as the API shows it: without its body, and with a sentence. */
export function presentLetter(letter: DeadLetter, now: number): ApiDeadLetter {
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
