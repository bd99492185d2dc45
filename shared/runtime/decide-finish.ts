import { expire, isPastDeadline } from '../core/deadline.ts'
import { type Finish, type FinishDecision, finish } from '../core/finish.ts'
import type { Task } from '../core/task.ts'
import type { System } from './system.ts'

/** A run that fails after the deadline ends the whole task; a success still counts, as any late finish does. */
export function decideFinish(
  { clock, chance }: Pick<System, 'clock' | 'chance'>,
  task: Task | undefined,
  word: Finish,
): FinishDecision {
  const now = clock.now()
  const isOurs = task?.born === word.born && task.live[word.fence] !== undefined
  const isTooLate = isOurs && word.outcome !== 'succeed' && isPastDeadline(task, now)
  return isTooLate ? { ok: true, change: expire(task, now) } : finish(task, word, now, chance.fraction())
}
