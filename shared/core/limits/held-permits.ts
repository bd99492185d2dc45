import { liveRuns, type Task } from '../task/task.ts'

/** After this time a recorded holder has claimed its task, or it never will. It is then stale (`mayBeStale`). */
const HOLDER_CLAIM_MS = 10_000
/**
 * No process takes a holder for stale that was recorded less than this time ago, because clocks differ by less than the 5 s up to
 * `HOLDER_CLAIM_MS`.
 */
export const FRESH_HOLDER_MS = 5_000
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

/** The holders of permits that are recorded in some shards of a concurrency limit. */
export type HeldPermits = { readonly holders: readonly Holder[] }

/** Whether a holder is old enough to be removed if its task has no run with the permit. */
export function mayBeStale({ since }: Holder, now: number): boolean {
  return since + HOLDER_CLAIM_MS <= now
}

/**
 * Whether a worker holds a permit for a run of the task that may begin soon and that the head does not show yet. A holder that is
 * older than the head's last change does not count: its run has ended, or its claim will be refused.
 */
export function isBeingClaimed(task: Task, { holders }: HeldPermits, now: number): boolean {
  const begun = new Set(liveRuns(task).flatMap(({ permits = [] }) => permits.map(({ holder }) => holder)))
  const mayBegin = ({ holder, since }: Holder) => since >= task.updatedAt && !begun.has(holder)
  return holders.some(holder => holder.taskId === task.id && mayBegin(holder) && !mayBeStale(holder, now))
}
