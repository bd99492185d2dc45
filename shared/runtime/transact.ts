import type { Change } from '../core/change.ts'
import { BatonError } from '../core/errors.ts'
import type { Task } from '../core/task.ts'
import { applyChange } from './apply-change.ts'
import { giveBack, permitsLeft } from './control/permits.ts'
import type { System } from './system.ts'

/**
 * A lost race re-decides on the winner's item, so each round means that somebody else made progress; this many in a
 * row on one task mean something is wrong.
 */
const MAX_ROUNDS = 20

/** What a transition may say: a change to write, or none. */
type Decided = { readonly ok: boolean; readonly change?: Change | undefined }

/** The decision that held, and the task as it stands after it (unchanged when there was nothing to write). */
export type Outcome<D extends Decided> = {
  readonly decision: D
  readonly task: Task | undefined
  /** How many conditional writes lost a race on the way. */
  readonly conflicts: number
}

/**
 * Decide, write, and when the guard no longer held, decide again on what stands there: the one loop around every
 * transition. Permits of runs that it ended are given back. `seen` is what the caller already holds, so that the usual case
 * costs one write and no read.
 *
 * @throws BatonError `contended` after 20 lost races in a row.
 */
export async function transact<D extends Decided>(
  system: System,
  seen: Task | undefined,
  decide: (task: Task | undefined) => D,
): Promise<Outcome<D>> {
  let current = seen
  for (let conflicts = 0; conflicts < MAX_ROUNDS; conflicts++) {
    const decision = decide(current)
    if (!decision.change) return { decision, task: current, conflicts }
    const applied = await applyChange(system, decision.change)
    if (applied.applied) {
      await giveBack(system, permitsLeft(current, decision.change.after))
      return { decision, task: applied.task, conflicts }
    }
    current = applied.current
  }
  throw new BatonError('contended', `${seen?.id ?? 'task'} changed ${MAX_ROUNDS} times while being written`)
}
