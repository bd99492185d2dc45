/**
 * Every other room of the runtime builds on the kernel. The kernel imports none of them.
 *
 * Read in this order:
 * - `system.ts`: the stores, queues and clocks that a use case works with, and the change hooks
 * - `transact` below: the one loop around each transition (decide, write, decide again after a lost race); `ofSameBirth` for
 *   decisions about one birth
 * - `read-heads.ts`: reads of one kind of heads
 * - `contention.ts`: which refused writes are lost races, and how long a writer waits after one
 * - `apply-change.ts`: the write of one change, with `living-bodies.ts` (expiry of bodies) and the hooks
 * - `isolate-faults.ts`: a fault of one task does not stop the others
 * - `log-run-ends.ts`, `full-error.ts`, `spans.ts`, `traceparent.ts`: log lines, errors and traces
 * - `moment.ts`, `in-time.ts`, `timed-cache.ts`, `process-memory.ts`, `side-by-side.ts`: time, caches, concurrent work
 */

import { type Change, withOperation } from '../../core/change/change.ts'
import { BatonError, isOutage } from '../../core/errors.ts'
import { endOfComplete } from '../../core/run/several-successes.ts'
import { type Head, isSameKind, isTask, type OfKind } from '../../core/task/head.ts'
import { applyChange } from './apply-change.ts'
import { isLostRace, type LostRaces, refusedWriterWaitMs } from './contention.ts'
import type { System } from './system.ts'
import { logFields } from './traceparent.ts'

/** A writer that loses races for one head tries again for this long. */
const PATIENCE_MS = 20_000

/** What `decide` returns: a change to write, or none. */
type Decision<H extends Head> = { readonly ok: boolean; readonly change?: Change<H> | undefined }

/** The last decision, and the head after it. The head is unchanged when there was nothing to write. */
export type Outcome<H extends Head, D> = {
  readonly decision: D
  readonly head: H | undefined
  /** How many conditional writes were refused before the last one. Some are lost races, some were decided on an old copy. */
  readonly refusals: number
}

/**
 * A writer that loses races tries again until this time, by the system's clock.
 *
 * @default 20 s after `transact` is called
 */
export type Patience = { readonly until?: number }

/**
 * The one loop around every transition: decides, writes, and decides again when the guard of the write no longer held.
 * After a lost race the writer may wait, and then reads the head again before its next write.
 *
 * `seen` is the head that the caller already holds, so the usual case costs one write and no read. `decide` gets a head of the same
 * kind as `seen`. A task whose last success has completed it gets its end written first, so `decide` never sees such a task.
 *
 * @throws BatonError `contended` when the writer lost races until `until`. Nothing is written, and repeating is safe.
 */
export async function transact<H extends Head, D extends Decision<OfKind<H>>>(
  system: System,
  seen: H | undefined,
  decide: (head: OfKind<H> | undefined, refusals: number) => D,
  { until = system.clock.now() + PATIENCE_MS }: Patience = {},
): Promise<Outcome<OfKind<H>, D>> {
  const { clock } = system
  let current = seen as OfKind<H> | undefined
  let lostRaces = 0
  for (let refusals = 0; ; refusals++) {
    current = current && (await endIfComplete(system, current))
    const decision = decide(current, refusals)
    if (!decision.change) return { decision, head: current, refusals }
    const { after } = decision.change
    const sentAt = clock.now()
    if (refusals > 0 && sentAt >= until) throw contended(after.id)
    const applied = await applyChange(system, withOperator(system, decision.change), current)
    if (applied.applied)
      return { decision, head: await withItsEnd(system, sameKind(after, applied.head)), refusals }
    const answeredAt = clock.now()
    if (isLostRace({ current: applied.current, sentAt, answeredAt })) lostRaces += 1
    const races = {
      count: lostRaces,
      writeMs: answeredAt - sentAt,
      operation: after.operation,
      leftMs: until - answeredAt,
    }
    const read = await afterRefusal(system, applied.current, races)
    current = read && sameKind(after, read)
  }
}

/** Narrows a head that was read to the kind of the head that was written. The type in an id fixes the kind for ever. */
function sameKind<Kind extends Head>(written: Kind, read: Head): Kind {
  if (isSameKind(written, read)) return read
  throw new BatonError(
    'invalid',
    `${read.id} is stored as a head of kind ${read.kind}, but heads of its type never have that kind`,
  )
}

const GONE = { ok: false, reason: 'gone' } as const

/**
 * The decision about one birth of a key, for `transact`. It asks `decide` while the stored head is of the birth that the
 * caller saw. Otherwise it refuses with `gone`: nothing that was meant for one birth may change a later one.
 */
export function ofSameBirth<H extends Head, Decided>(
  { born }: Pick<H, 'born'>,
  decide: (current: H) => Decided,
): (current: H | undefined) => Decided | typeof GONE {
  return current => (current?.born === born ? decide(current) : GONE)
}

/** The change with a record of the operator that asked for it, if there is one. */
function withOperator({ operator, clock }: System, change: Change): Change {
  return operator ? withOperation(change, operator, clock.now()) : change
}

/** The head, after its end is written if it is a complete task. Undefined when the task is gone. */
async function endIfComplete<Kind extends Head>(system: System, seen: Kind): Promise<Kind | undefined> {
  let current: Head | undefined = seen
  for (;;) {
    const end: Change | undefined = current && isTask(current) ? endOfComplete(current) : undefined
    if (!end) return current && sameKind(seen, current)
    const applied = await applyChange(system, end, current)
    current = applied.applied ? applied.head : applied.current
  }
}

function contended(id: string): BatonError {
  return new BatonError(
    'contended',
    `${id} was changed by other writers at every try: nothing was written; try again`,
  )
}

/** The head to decide on after a refused write. If the writer has to wait, at most `leftMs`, it reads the head again. */
async function afterRefusal(
  { clock, chance, tasks }: System,
  current: Head | undefined,
  { leftMs, ...lostRaces }: LostRaces & { readonly leftMs: number },
): Promise<Head | undefined> {
  const waitMs = Math.min(leftMs, refusedWriterWaitMs(current, lostRaces, chance.fraction()))
  if (!current || waitMs <= 0) return current
  await clock.sleep(waitMs)
  return tasks.head(current.id)
}

/**
 * The head after a write that may have completed it, with its end written. The success itself is already stored. When an
 * outage prevents the write of the end, the planner sends a look at the complete head, and the waker writes the end.
 */
async function withItsEnd<Kind extends Head>(system: System, head: Kind): Promise<Kind> {
  try {
    const after = await endIfComplete(system, head)
    return after?.born === head.born ? after : head
  } catch (error) {
    if (!isOutage(error)) throw error
    system.log.warn('the end of a complete task is not written yet', { ...logFields(head), error })
    return head
  }
}
