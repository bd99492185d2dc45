/**
 * The kernel is what every other room works with, and it knows none of them. `transact` below is the one loop around
 * each transition: decide, write, and decide again after a lost race. Beside it stand the world a use case works in
 * (`system.ts`), the write of a change with its hooks (`apply-change.ts`), bodies, faults that concern one task only,
 * log lines and spans, and small helpers for time, caches and parallel work.
 */

import type { Change } from '../../core/change/change.ts'
import { withOperation } from '../../core/change/operations.ts'
import { BatonError, isOutage } from '../../core/errors.ts'
import { endOfComplete } from '../../core/run/several-successes.ts'
import type { Task } from '../../core/task/task.ts'
import { applyChange } from './apply-change.ts'
import { type Conflicts, conflictWaitMs, isLostRace } from './contention.ts'
import type { System } from './system.ts'
import { logFields } from './traceparent.ts'

/** For so long a writer tries again after it lost races for one head. */
const PATIENCE_MS = 20_000

/** What a transition may say: a change to write, or none. */
type Decided = { readonly ok: boolean; readonly change?: Change | undefined }

/** The decision that held, and the task as it stands after it (unchanged when there was nothing to write). */
export type Outcome<D extends Decided> = {
  readonly decision: D
  readonly task: Task | undefined
  /** How many conditional writes lost a race on the way. */
  readonly conflicts: number
}

/** Until when, by the system's clock, a writer that lost races tries again. @default 20 s from its first write on */
export type Patience = { readonly until?: number }

/**
 * Decides, writes, and decides again when the guard no longer held: the one loop around every transition. A writer that
 * lost a race among many waits, and reads the head again before its next write. A complete head gets its end first, so that
 * `decide` never meets one. `seen` is what the caller already holds, so that the usual case costs one write and no read.
 *
 * @throws BatonError `contended` after races lost until its time was over: nothing is written, and trying again is safe.
 */
export async function transact<D extends Decided>(
  system: System,
  seen: Task | undefined,
  decide: (task: Task | undefined, conflicts: number) => D,
  { until = system.clock.now() + PATIENCE_MS }: Patience = {},
): Promise<Outcome<D>> {
  const { clock } = system
  let current = seen
  let races = 0
  for (let conflicts = 0; ; conflicts++) {
    current = await ended(system, current)
    const decision = decide(current, conflicts)
    if (!decision.change) return { decision, task: current, conflicts }
    const sentAt = clock.now()
    if (conflicts > 0 && sentAt >= until) throw contended(decision.change.after.id)
    const applied = await applyChange(system, noted(system, decision.change), current)
    if (applied.applied) return { decision, task: await withItsEnd(system, applied.task), conflicts }
    const answeredAt = clock.now()
    if (isLostRace({ current: applied.current, sentAt, answeredAt })) races += 1
    const { operation } = decision.change.after
    const lost = { count: races, writeMs: answeredAt - sentAt, operation, leftMs: until - answeredAt }
    current = await afterConflict(system, applied.current, lost)
  }
}

/** A change that a person asked for says who did. */
function noted({ operator, clock }: System, change: Change): Change {
  return operator ? withOperation(change, operator, clock.now()) : change
}

/** The head, after its end has been written where it was complete. */
async function ended(system: System, seen: Task | undefined): Promise<Task | undefined> {
  let current = seen
  for (;;) {
    const end = current && endOfComplete(current)
    if (!end) return current
    const applied = await applyChange(system, end, current)
    current = applied.applied ? applied.task : applied.current
  }
}

function contended(id: string): BatonError {
  return new BatonError(
    'contended',
    `other writers of ${id} were faster all the time: nothing was written; try again`,
  )
}

/** The head to decide on after a lost race: after a wait, which ends with the time that is left, it is read again. */
async function afterConflict(
  { clock, chance, tasks }: System,
  current: Task | undefined,
  { leftMs, ...conflicts }: Conflicts & { readonly leftMs: number },
): Promise<Task | undefined> {
  const waitMs = Math.min(leftMs, conflictWaitMs(current, conflicts, chance.fraction()))
  if (!current || waitMs <= 0) return current
  await clock.sleep(waitMs)
  return tasks.head(current.id)
}

/**
 * The task after a write that may have completed it, with its end. The success that completed it is stored: where the end
 * cannot be written now, the planner sees to it.
 */
async function withItsEnd(system: System, task: Task): Promise<Task> {
  try {
    const after = await ended(system, task)
    return after?.born === task.born ? after : task
  } catch (error) {
    if (!isOutage(error)) throw error
    system.log.warn('the end of a complete task is not written yet', { ...logFields(task), error })
    return task
  }
}
