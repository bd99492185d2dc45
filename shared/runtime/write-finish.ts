import { type Finish, type FinishDecision, finish } from '../core/finish.ts'
import type { Task } from '../core/task.ts'
import { giveBack } from './control/permits.ts'
import type { System } from './system.ts'
import { type Outcome, transact } from './transact.ts'

/**
 * A counted success is refused when its run has ended, which the next decision finds out, or on a head of older code that has
 * no room for it. After so many refusals the success is written with the guard of the revision.
 */
const COUNTED_TRIES = 3

/** Ends a run by its worker's word. Repeating it is safe: the same word about a run that it has ended changes nothing. */
export async function writeFinish(
  system: System,
  seen: Task,
  word: Finish,
): Promise<Outcome<FinishDecision>> {
  const outcome = await transact(system, seen, (task, conflicts) =>
    finish(task, word, system.clock.now(), system.chance.fraction(), { mayCount: conflicts < COUNTED_TRIES }),
  )
  // Refused, but by its own work: the answer to the write was lost, and with it the permits to give back.
  const { decision, conflicts } = outcome
  if (decision.ok && !decision.change && conflicts > 0) {
    await giveBack(system, seen.live[word.fence]?.permits ?? [])
  }
  return outcome
}
