/**
 * Every other room of the runtime builds on the kernel. The kernel imports none of them.
 *
 * Read in this order:
 * - `system.ts`: the stores, queues and clocks that a use case works with, and the change hooks
 * - `transact` below: the one loop around each transition (decide, write, decide again after a lost race); `ofSameBirth` for
 *   decisions about one birth
 * - `contention.ts`: how long a writer waits after a lost race
 * - `apply-change.ts`: the write of one change, with `living-bodies.ts` (expiry of bodies) and the hooks
 * - `isolate-faults.ts`: a fault of one task does not stop the others
 * - `log-run-ends.ts`, `full-error.ts`, `spans.ts`, `traceparent.ts`: log lines, errors and traces
 * - `moment.ts`, `in-time.ts`, `timed-cache.ts`, `process-memory.ts`, `side-by-side.ts`, `given.ts`: time, caches, concurrent work
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

/** A writer that loses races for one head tries again for this long. */
const PATIENCE_MS = 20_000

/** What `decide` returns: a change to write, or none. */
type Decision = { readonly ok: boolean; readonly change?: Change | undefined }

/** The decision that held, and the task as it stands after it (unchanged when there was nothing to write). */
export type Outcome<D extends Decision> = {
  readonly decision: D
  readonly task: Task | undefined
  /** How many conditional writes were refused before the last one. */
  readonly conflicts: number
}

/** A writer that loses races tries again until then, by the system's clock. @default 20 s after `transact` is called */
export type Patience = { readonly until?: number }

/**
 * The one loop around every transition: decides, writes, and decides again when the guard of the write no longer held.
 * After a lost race the writer may wait, and then reads the head again before its next write.
 *
 * `seen` is the head that the caller already holds, so the usual case costs one write and no read. A head whose last
 * success has completed the task gets its end written first, so `decide` never sees such a head.
 *
 * @throws BatonError `contended` when the writer lost races until `until`. Nothing is written, and repeating is safe.
 */
export async function transact<D extends Decision>(
  system: System,
  seen: Task | undefined,
  decide: (task: Task | undefined, conflicts: number) => D,
  { until = system.clock.now() + PATIENCE_MS }: Patience = {},
): Promise<Outcome<D>> {
  const { clock } = system
  let current = seen
  let lostRaces = 0
  for (let conflicts = 0; ; conflicts++) {
    current = await endIfComplete(system, current)
    const decision = decide(current, conflicts)
    if (!decision.change) return { decision, task: current, conflicts }
    const sentAt = clock.now()
    if (conflicts > 0 && sentAt >= until) throw contended(decision.change.after.id)
    const applied = await applyChange(system, withOperator(system, decision.change), current)
    if (applied.applied) return { decision, task: await withItsEnd(system, applied.task), conflicts }
    const answeredAt = clock.now()
    if (isLostRace({ current: applied.current, sentAt, answeredAt })) lostRaces += 1
    const { operation } = decision.change.after
    const lost = { count: lostRaces, writeMs: answeredAt - sentAt, operation, leftMs: until - answeredAt }
    current = await afterConflict(system, applied.current, lost)
  }
}

const GONE = { ok: false, reason: 'gone' } as const

/**
 * The decision about one birth of a key, for `transact`. It asks `decide` while the stored head is of the birth that the
 * caller saw. Otherwise it refuses with `gone`: nothing that was meant for one birth may change a later one.
 */
export function ofSameBirth<Decided>(
  { born }: Pick<Task, 'born'>,
  decide: (current: Task) => Decided,
): (current: Task | undefined) => Decided | typeof GONE {
  return current => (current?.born === born ? decide(current) : GONE)
}

/** The change with a record of the operator that asked for it, if there is one. */
function withOperator({ operator, clock }: System, change: Change): Change {
  return operator ? withOperation(change, operator, clock.now()) : change
}

/** The head, after its end is written if it is complete. */
async function endIfComplete(system: System, seen: Task | undefined): Promise<Task | undefined> {
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
    `${id} was changed by other writers at every try: nothing was written; try again`,
  )
}

/** The head to decide on after a refused write. If the writer has to wait, at most `leftMs`, it reads the head again. */
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
 * The task after a write that may have completed it, with its end written. The success itself is already stored. When an
 * outage prevents the write of the end, the planner writes it later.
 */
async function withItsEnd(system: System, task: Task): Promise<Task> {
  try {
    const after = await endIfComplete(system, task)
    return after?.born === task.born ? after : task
  } catch (error) {
    if (!isOutage(error)) throw error
    system.log.warn('the end of a complete task is not written yet', { ...logFields(task), error })
    return task
  }
}
