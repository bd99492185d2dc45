/**
 * Every other room of the runtime builds on the kernel. The kernel imports none of them.
 *
 * Read in this order:
 * - `system.ts`: the stores, queues and clocks that a use case works with, the change hooks, and what a process remembers
 * - `transact` below: the one loop around each transition (decide, write, decide again after a lost race); `ofSameBirth` for
 *   decisions about one birth; `applyChange`: the write of one change with its hooks; `isLostRace` and `refusedWriterWaitMs`:
 *   which refused writes are lost races, and how long a writer waits after one
 * - `heads.ts`: reads of heads and their bodies, and work on many heads, where a fault of one task does not stop the others
 * - `log-run-ends.ts`, `spans.ts`: log lines and traces
 */

import { type Change, withOperation } from '../../core/change.ts'
import { endOfComplete } from '../../core/run/finish.ts'
import { type Head, isSameKind, isTask, type OfKind } from '../../core/task/head.ts'
import type { Operation } from '../../core/task/head-fields.ts'
import { liveRuns, workersWanted } from '../../core/task/task.ts'
import { BatonError, illegal, isOutage } from '../../core/values/values.ts'
import type { Applied } from '../../ports/stores.ts'
import { withLivingBodies } from './heads.ts'
import { logFields, logRunEnds } from './log-run-ends.ts'
import type { System } from './system.ts'

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
  throw illegal(
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

/** Like `transact`, for a decision about the birth of the head that the caller saw. */
export function transactBirth<H extends Head, D extends Decision<OfKind<H>>>(
  system: System,
  seen: H,
  decide: (current: OfKind<H>) => D,
): Promise<Outcome<OfKind<H>, D | typeof GONE>> {
  return transact<H, D | typeof GONE>(system, seen, ofSameBirth<OfKind<H>, D>(seen, decide))
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

/**
 * Writes one change of a head. Every transition is written by this function. Before the write it renews the bodies that
 * the head relies on, and each change hook adds its part. After the write it logs the runs that the change has ended.
 *
 * `held` is the head that the writer held. It differs from `change.before` when the change begins with another head.
 */
export async function applyChange(
  system: System,
  change: Change,
  held: Head | undefined = change.before,
): Promise<Applied> {
  const ready = await preparedChange(system, await withLivingBodies(system.tasks, change))
  const applied = await system.tasks.apply(ready)
  if (!applied.applied) {
    for (const { refused } of system.changeHooks) refused?.(system, ready)
    return applied
  }
  logRunEnds(system, ready)
  for (const { written } of system.changeHooks) if (written) await written(system, held, change.after)
  return applied
}

/** The change with the parts that the change hooks add before a write. */
export async function preparedChange<H extends Head>(system: System, change: Change<H>): Promise<Change<H>> {
  let ready: Change = change
  for (const { prepare } of system.changeHooks) if (prepare) ready = await prepare(system, ready)
  // A hook adds to the head, and never changes its kind.
  return ready as Change<H>
}

/**
 * A writer that lost a race for a head waits, reads the head again, and decides again. The constants below say how long it waits. A lost
 * write costs the write units of the whole item. So rival writers must spread over the time that their writes need one after the other.
 *
 * The wait is a random part of a window. At first the window is as long as a few writes. It grows with each lost race, since each one shows
 * that there are more rivals than assumed. At most it is as long as the writes of all possible rivals.
 *
 * A claim has as many rivals as the task wants workers, since live runs rarely write. So each claim shrinks the window's bound. The bound
 * grows slowly with the races that one writer has lost, so that no writer loses again and again.
 *
 * Simulated, 100 claims at one moment with writes of 5 to 15 ms take 4 writes each, at most 8, and the last one ends after 2.7 to 4.2 s.
 * When live runs counted as rivals too, the claims took 3.6 writes and 4.8 to 5.8 s. The same 100 claims through six processes, each busy
 * with one claim at a time, take 1.6 writes and 3.4 to 5.4 s instead of 5.6 to 7.8 s. Windows that reach their full length at once make two
 * rivals wait as long as a hundred.
 */
const FIRST_WINDOW_WRITES = 4
const WINDOW_GROWTH = 6
const SHARE_GROWTH = 0.75
const WRITE_MS_MIN = 5
/** A longer write has queued behind other writes. A longer window would not shorten that queue, so the time is capped. */
const WRITE_MS_MAX = 25
/** With at most this many rivals, the first lost race costs no wait: each rival needs one more write. */
const FEW_RIVALS = 2

/** A refused write: the head that refused it, when the write was sent, and when the answer came. */
type RefusedWrite = {
  readonly current: Head | undefined
  readonly sentAt: number
  readonly answeredAt: number
}

/**
 * Whether a refused write lost to another write at about the same time. Otherwise the writer decided on an outdated copy
 * of the task, such as the copy in a dispatch. That says nothing about rivals, and the writer may try again at once.
 */
export function isLostRace({ current, sentAt, answeredAt }: RefusedWrite): boolean {
  const writeMs = Math.max(WRITE_MS_MAX, answeredAt - sentAt)
  return current === undefined || current.updatedAt + 2 * writeMs >= sentAt
}

type LostRaces = {
  /** Races that this writer has lost in a row for one change. */
  readonly count: number
  /** How long the writer's last write took. */
  readonly writeMs: number
  /** The operation that the writer wants to write. */
  readonly operation: Operation
}

/**
 * The wait before the next try, in ms. With 0 the writer tries at once, on the head that the refused write returned.
 * `chance` is a random number from 0 to 1.
 */
export function refusedWriterWaitMs(
  head: Head | undefined,
  { count, writeMs, operation }: LostRaces,
  chance: number,
): number {
  const rivals = rivalsFor(head, operation)
  if (count === 0 || (count === 1 && rivals <= FEW_RIVALS)) return 0
  const write = Math.min(WRITE_MS_MAX, Math.max(WRITE_MS_MIN, writeMs))
  const all = rivals * write * (1 + SHARE_GROWTH * (count - 1))
  const grown = FIRST_WINDOW_WRITES * write * WINDOW_GROWTH ** (count - 1)
  return Math.ceil(Math.min(all, grown) * chance)
}

/**
 * How many processes may want to write the head at one moment. For a task these are possible claimers, workers with live runs, and one
 * more; a claim does not count the live runs. A canvas or a schedule is written by a request and by the process that works on it.
 */
function rivalsFor(head: Head | undefined, operation: Operation): number {
  if (head?.state !== 'open') return 1
  if (!isTask(head)) return 2
  const claimers = Math.max(0, workersWanted(head))
  return operation === 'claim' ? claimers + 1 : liveRuns(head).length + claimers + 1
}
