import { type Claimer, type ClaimRefusal, claim } from '../core/claim.ts'
import { endedRuns, type LiveRun, liveRuns, type Task } from '../core/task.ts'
import { isSamePiece, openSince } from '../core/work.ts'
import { logFields } from './log-fields.ts'
import type { System } from './system.ts'
import { transact } from './transact.ts'

export type Claimed = {
  readonly task: Task
  readonly run: LiveRun
  /** Of the run's span; what the handler calls and publishes goes on from there. */
  readonly traceparent?: string
}

export type NotClaimed = {
  /** Why the claim came to nothing; `gone`: the birth, or the piece of it, that was seen is over. */
  readonly refused: ClaimRefusal | 'gone'
  /** Whether somebody else was faster. */
  readonly lostToOthers: boolean
}

/** Whether a claim would write anything: a refused one may, too, such as the last lost run or a passed deadline. */
export function isWorthAWrite(task: Task, claimer: Claimer, now: number): boolean {
  return claim(task, claimer, now).change !== undefined
}

/**
 * Claims the task that was seen, usually by one conditional write and no read: `seen` comes with the dispatch. When it
 * has changed since, the claim is decided anew on what stands there, but never on another birth or piece: the next step of
 * a flow may be another type's.
 */
export async function claimTask(system: System, seen: Task, claimer: Claimer): Promise<Claimed | NotClaimed> {
  const { decision, task, conflicts } = await transact(system, seen, current =>
    current && isSamePiece(seen, current)
      ? claim(current, claimer, system.clock.now())
      : { ok: false as const, reason: 'gone' as const },
  )
  if (conflicts > 0) system.metrics.add('ClaimConflict', conflicts, seen.type)
  if (!decision.ok) {
    system.log.debug('not claimed', { ...logFields(seen), reason: decision.reason })
    const wasChanged = conflicts > 0 && !hasHeld(task, claimer)
    return { refused: decision.reason, lostToOthers: wasChanged || decision.reason === 'no-slot' }
  }
  if (!task) throw new Error(`claimed ${seen.id} but holds no task`)
  system.metrics.add('Lateness', Math.max(0, decision.run.startedAt - openSince(task)), task.type)
  return { task, run: decision.run }
}

/** What a worker has just claimed or finished itself may still be shown to it as ready. */
function hasHeld(task: Task | undefined, { workerId }: Claimer): boolean {
  const runs = task ? [...liveRuns(task), ...endedRuns(task)] : []
  return runs.some(run => run.workerId === workerId)
}
