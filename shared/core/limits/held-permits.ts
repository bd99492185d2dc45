import { liveRuns, type Task } from '../task/task.ts'

/** The waker looks at a limit this often while tasks wait for it, even when messages are lost. */
export const LIMIT_LOOK_INTERVAL_S = 15
/**
 * A look that admitted tasks is followed by another one after this time. An admitted task that no worker can run must not keep
 * other tasks waiting for long.
 */
const LIMIT_LOOK_SOON_S = 5
/**
 * The first look of a series comes this long after its note. A process reads at most once a second whether a note exists, so a
 * release just after the note may not have been reported to the planner.
 */
export const FIRST_LOOK_S = 2
/** A series of looks ends after this many looks in a row that found no waiting task, since an index may show a task late. */
export const EMPTY_LOOKS_MAX = 2
/** After this time a recorded holder has claimed its task, or it never will. It is then stale (`mayBeStale`). */
const HOLDER_CLAIM_MS = 10_000
/**
 * No process takes a holder for stale that was recorded less than this time ago, because clocks differ by less than the 5 s up to
 * `HOLDER_CLAIM_MS`.
 */
export const FRESH_HOLDER_MS = 5_000
/** A wait note (see `HeldPermits`) older than this means that the series of looks at the limit has ended. */
export const WAIT_NOTE_LIFE_MS = 4 * LIMIT_LOOK_INTERVAL_S * 1_000

/**
 * The permits of a limit are stored in shards of at most this many holders. With ids of up to 85 characters each write of a shard
 * costs one write unit. One shard allows 500 starts a second, since a partition of a table serves 1,000 write units a second.
 */
export const SHARD_PERMITS_MAX = 8
const HOLDER_CHARACTERS = 10

/** The shards of a limit of `max` permits. */
export function shardsOf(max: number): number[] {
  return Array.from({ length: Math.ceil(max / SHARD_PERMITS_MAX) }, (_, shard) => shard)
}

/**
 * The permits of one shard. No shard has fewer permits when `max` is larger. So claims that obey different values of `max`, while
 * it changes, together never hold more permits than the largest of these values.
 */
export function permitsIn(shard: number, max: number): number {
  return Math.min(SHARD_PERMITS_MAX, Math.max(0, max - shard * SHARD_PERMITS_MAX))
}

/** The free permits of these shards, of which `holders` hold permits. */
export function freePermitsIn(shards: readonly number[], max: number, holders: readonly Holder[]): number {
  const held = heldByShard(holders)
  return shards.reduce((sum, shard) => sum + Math.max(0, permitsIn(shard, max) - (held.get(shard) ?? 0)), 0)
}

/** How many of the holders are in each shard. */
export function heldByShard(holders: readonly Holder[]): ReadonlyMap<number, number> {
  const held = new Map<number, number>()
  for (const shard of holders.map(({ holder }) => shardOf(holder)))
    held.set(shard, (held.get(shard) ?? 0) + 1)
  return held
}

/** The id of a holder in a shard: random characters, followed by the number of the shard unless it is 0. */
export function holderIn(shard: number, random: string): string {
  return random.slice(-HOLDER_CHARACTERS) + (shard || '')
}

/** The shard that stores a holder. */
export function shardOf(holder: string): number {
  return Number(holder.slice(HOLDER_CHARACTERS)) || 0
}

/** A permit that a run gave back: its limit and shard. The next claim under the limit tries this shard first. */
export type FreedPermit = { readonly limit: string; readonly shard: number }

/** The holder of a permit: its id, the task whose run it stands for, and the time of its record. */
export type Holder = { readonly holder: string; readonly taskId: string; readonly since: number }

/**
 * What is recorded in shards of a concurrency limit. `waitNotedAt` is the wait note: the time at which a process last noted that
 * tasks wait for a permit. The note is in shard 0. It also names the one series of looks that serves the limit.
 */
export type HeldPermits = { readonly holders: readonly Holder[]; readonly waitNotedAt?: number }

/**
 * A change of a limit that the planner reads from the table's stream while tasks wait for the limit. Handlers send no messages
 * about limits. A chain of handler, waker and handler has no table in between, and Lambda would cut it after 16 rounds.
 *
 * - `freed`  a run gave its permit back
 * - `noted`  a task waits, and no look serves the limit yet; `since` is the time of that note
 */
export type LimitChange =
  | ({ readonly kind: 'freed' } & FreedPermit)
  | { readonly kind: 'noted'; readonly limit: string; readonly since: number }

/**
 * A message that makes the waker admit tasks that wait for permits of a limit. There are two kinds.
 *
 * - With `since`, the time of a wait note, it belongs to the series of looks that this note began. Each look sends the next one
 *   as long as tasks wait. `emptyLooksInRow` counts the looks in a row that found no waiting task.
 * - Without `since` and `emptyLooksInRow` it is sent once, because runs gave `released` permits back (one when left out). `shards`
 *   has the shard of each of them.
 *
 * `delaySeconds` is a whole number from 0 to 900.
 */
export type LimitLook = {
  readonly limit: string
  readonly emptyLooksInRow?: number
  readonly since?: number
  readonly released?: number
  readonly shards?: readonly number[]
  readonly delaySeconds: number
}

/** Whether a wait note exists and a series of looks still serves the limit. */
export function hasLiveWaitNote({ waitNotedAt }: HeldPermits, now: number): boolean {
  return waitNotedAt !== undefined && waitNotedAt + WAIT_NOTE_LIFE_MS > now
}

/**
 * What a claim does after it has found all permits held.
 *
 * - `leave`      nothing: another worker holds one of the permits for a run of the same task that is about to begin
 * - `wait`       it writes the task's wait, since a series of looks already serves the limit
 * - `note-wait`  it notes at the limit that tasks wait, since no look serves the limit yet, and then writes the task's wait
 */
export type NoPermitDecision = 'leave' | 'wait' | 'note-wait'

export function decideWithoutPermit(task: Task, held: HeldPermits, now: number): NoPermitDecision {
  if (isBeingClaimed(task, held.holders, now)) return 'leave'
  return hasLiveWaitNote(held, now) ? 'wait' : 'note-wait'
}

/** How a series of looks goes on after a look: with another one, or not at all. */
export type SeriesDecision =
  | { readonly kind: 'look-again'; readonly emptyLooksInRow: number; readonly delaySeconds: number }
  | { readonly kind: 'end' }

/** Decides how a series goes on after a look. `emptyLooksInRow` counts the empty looks directly before that look. */
export function decideSeries(
  emptyLooksInRow: number,
  { admitted, isWaitedFor }: { readonly admitted: number; readonly isWaitedFor: boolean },
): SeriesDecision {
  const emptyNow = isWaitedFor ? 0 : emptyLooksInRow + 1
  if (emptyNow >= EMPTY_LOOKS_MAX) return { kind: 'end' }
  const delaySeconds = admitted > 0 ? LIMIT_LOOK_SOON_S : LIMIT_LOOK_INTERVAL_S
  return { kind: 'look-again', emptyLooksInRow: emptyNow, delaySeconds }
}

/** Whether a holder is old enough to be removed if its task has no run with the permit. */
export function mayBeStale({ since }: Holder, now: number): boolean {
  return since + HOLDER_CLAIM_MS <= now
}

/**
 * Whether a worker holds a permit for a run of the task that may begin soon and that the head does not show yet. A holder that is
 * older than the head's last change does not count: its run has ended, or its claim will be refused.
 */
function isBeingClaimed(task: Task, holders: readonly Holder[], now: number): boolean {
  const begun = new Set(liveRuns(task).flatMap(({ permits = [] }) => permits.map(({ holder }) => holder)))
  const mayBegin = ({ holder, since }: Holder) => since >= task.updatedAt && !begun.has(holder)
  return holders.some(holder => holder.taskId === task.id && mayBegin(holder) && !mayBeStale(holder, now))
}
