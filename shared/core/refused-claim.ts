import { type Change, refuse } from './change.ts'
import { type Claimer, claim } from './claim.ts'
import { finish } from './finish.ts'
import type { Task } from './task.ts'

/**
 * A claim that the store refuses for what it would write is an attempt that failed: its run begins and ends in one write,
 * which holds nothing that limits granted. So it costs a retry, the task waits as after any failure, and at the end of its
 * budget it has failed, with the reason on record. Nothing else is tried with it meanwhile.
 */
export function claimRefused(
  task: Task,
  claimer: Claimer,
  message: string,
  now: number,
  chance: number,
): { readonly ok: true; readonly change: Change } | { readonly ok: false; readonly reason: 'not-claimable' } {
  const claimed = claim(task, claimer, now)
  if (!claimed.ok) return refuse('not-claimable')
  const { change, run } = claimed
  const word = {
    born: task.born,
    fence: run.fence,
    outcome: 'fail' as const,
    error: { name: 'ClaimRefused', message },
  }
  const failed = finish(change.after, word, now, chance)
  if (!failed.ok || !failed.change) return refuse('not-claimable')
  const after = { ...failed.change.after, revision: change.after.revision }
  return { ok: true, change: { ...change, after, bodies: [...change.bodies, ...failed.change.bodies] } }
}
