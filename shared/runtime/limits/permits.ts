import type { FreedPermit, HeldPermits, NamedLimit } from '../../core/limits/limits.ts'
import {
  FRESH_HOLDER_MS,
  heldByShard,
  holderIn,
  isBeingClaimed,
  mayBeStale,
  permitsIn,
  SHARD_PERMITS_MAX,
  shardOf,
  shardsOf,
} from '../../core/limits/limits.ts'
import { type Head, isTask } from '../../core/task/head.ts'
import { liveRuns, type Permit, type Task } from '../../core/task/task.ts'
import type { ConcurrencyLimit } from '../../core/types/task-type.ts'
import type { ChangeHook, Moment, System } from '../kernel/system.ts'
import { isWithin, momentOf, processMemory } from '../kernel/system.ts'

/** A permit of each limit, recorded at `since` or later; or the limit that has no free permit, and why. */
export type Acquired =
  | { readonly ok: true; readonly permits: readonly Permit[]; readonly since: Moment }
  | ({ readonly ok: false; readonly limit: string } & Unavailable)

/**
 * Why a limit gives no permit.
 *
 * - `used-up`        all permits are held
 * - `being-claimed`  all permits are held, one of them for a run of the same task that is about to begin
 *
 * `hasOldHolders`: some holders are so old that a process may have left them when it died.
 */
type Unavailable = { readonly why: 'used-up' | 'being-claimed'; readonly hasOldHolders: boolean }

/** Takes a permit of each limit for a run of the task that is about to begin. Takes all of them or none. */
export async function acquirePermits(
  system: System,
  task: Task,
  limits: readonly NamedLimit<ConcurrencyLimit>[],
): Promise<Acquired> {
  const since = momentOf(system.clock)
  const permits: Permit[] = []
  for (const limited of limits) {
    const permit = await acquire(system, task, limited)
    if ('why' in permit) {
      await releasePermits(system, permits)
      return { ok: false, ...permit, limit: limited.name }
    }
    permits.push(permit)
  }
  return { ok: true, permits, since }
}

async function acquire(
  system: System,
  task: Task,
  { name, limit }: NamedLimit<ConcurrencyLimit>,
): Promise<Permit | Unavailable> {
  const { chance, clock, limits } = system
  let holder = ''
  const held = await takeInShards(system, name, limit.max, shard => {
    const since = clock.now()
    holder = holderIn(shard, chance.ulid(since))
    return limits.acquire(name, { holder, taskId: task.id, since }, permitsIn(shard, limit.max))
  })
  if (!held) return { limit: name, holder }
  const now = clock.now()
  return {
    why: isBeingClaimed(task, held, now) ? 'being-claimed' : 'used-up',
    hasOldHolders: held.holders.some(one => mayBeStale(one, now)),
  }
}

/**
 * Whether the run of a claim that has been written still holds its permits, which were recorded at `since` or later. A claim that took long
 * may have lost them: its holders may have been removed as stale. Confirmed holders are not removed, since the task's head names them.
 */
export async function confirmPermits(
  system: System,
  permits: readonly Permit[],
  since: Moment,
): Promise<boolean> {
  if (isWithin(system.clock, since, FRESH_HOLDER_MS)) return true
  for (const { limit, holder } of permits) {
    if (!(await system.limits.renew(limit, holder, system.clock.now()))) return false
  }
  return true
}

/**
 * Releases permits. When tasks wait for them, the planner sees the release in the table's stream and sends the waker a
 * look, which admits the next tasks. Never fails: a permit that stays recorded is removed as stale by a later look.
 */
export async function releasePermits(system: System, permits: readonly Permit[]): Promise<void> {
  for (const { limit, holder } of permits) {
    try {
      noteHeld(system, limit, holder, await system.limits.release(limit, holder))
    } catch (error) {
      system.log.warn('a permit was not released', { limit, holder, error })
    }
  }
}

/** Each change releases the permits of the runs that it has ended. */
export const PERMIT_HOOK: ChangeHook = {
  written: (system, before, after) => releasePermits(system, permitsOfEndedRuns(before, after)),
}

/** The permits of the runs that have ended between two states of a task. */
function permitsOfEndedRuns(before: Head | undefined, after: Head): Permit[] {
  if (!before || !isTask(before) || !isTask(after)) return []
  return liveRuns(before)
    .filter(({ fence }) => before.born !== after.born || !after.live[fence])
    .flatMap(({ permits = [] }) => permits)
}

/**
 * Finds a shard with a free permit. A refused write costs as much as a granted one, and five times as much as a read. So a claim
 * writes to a shard only in three cases: its dispatch names a permit that was just freed there; this process knows that several
 * permits of the shard are free; or the claim has just read that one is free. A limit of one shard needs no search.
 */

/** What a process knows of a shard says for this long which shards to read first. */
const KNOWN_MS = 1_000
/** For this long a process writes to a shard without a read, if it knows of this many free permits there. */
const SURE_MS = 100
const FREE_PERMITS_MIN = 3
/** A freed permit that a dispatch named is tried first for this long. Then the search has probably found it. */
const HINT_MS = 10_000
const FIRST_READ_SHARDS = 2
const LIMITS_MAX = 1_000

/** What this process knows of a shard. `pending`: its own writes that have no answer yet. */
type Shard = { held: number; pending: number; readAt: Moment }
type Known = {
  hints: Array<{ readonly shard: number; readonly at: Moment }>
  readonly shards: Map<number, Shard>
}

const limitsOf = processMemory(() => new Map<string, Known>())

function knownOf({ limits }: Pick<System, 'limits'>, limit: string): Known {
  const all = limitsOf(limits)
  const known = all.get(limit) ?? { hints: [], shards: new Map<number, Shard>() }
  if (!all.has(limit) && all.size >= LIMITS_MAX) all.clear()
  all.set(limit, known)
  return known
}

/** Notes that a permit was freed. One claim of this process tries it first. */
export function noteFreed(system: Pick<System, 'limits' | 'clock'>, { limit, shard }: FreedPermit): void {
  knownOf(system, limit).hints.push({ shard, at: momentOf(system.clock) })
}

/** Notes how many permits of the holder's shard are held after its release. */
function noteHeld(system: System, limit: string, holder: string, { holders }: HeldPermits): void {
  if (limitsOf(system.limits).has(limit)) learn(system, knownOf(system, limit), [shardOf(holder)], holders)
}

/**
 * Calls `take` for one shard after another until one grants a permit. `take` writes, and returns the holders of the shard when no
 * permit is free there. Undefined when a permit was granted; otherwise the holders of the whole limit.
 */
async function takeInShards(
  system: System,
  limit: string,
  max: number,
  take: (shard: number) => Promise<HeldPermits | undefined>,
): Promise<HeldPermits | undefined> {
  if (max <= SHARD_PERMITS_MAX) return take(0)
  const known = knownOf(system, limit)
  const isGranted = async (shard: number) => {
    const entry = known.shards.get(shard) ?? { held: 0, pending: 0, readAt: momentOf(system.clock) }
    entry.pending += 1
    const refused = await take(shard).finally(() => {
      entry.pending -= 1
    })
    if (refused) learn(system, known, [shard], refused.holders)
    else entry.held += 1
    return !refused
  }
  const likely = hintedShard(system, known, max) ?? roomiest(system, known, max)
  if (likely !== undefined && (await isGranted(likely))) return undefined
  const order = searchOrder(system, known, max)
  let found: HeldPermits = { holders: [] }
  for (let from = 0, size = FIRST_READ_SHARDS; from < order.length; from += size, size *= 2) {
    const shards = order.slice(from, from + size)
    const read = await system.limits.permits(limit, shards)
    learn(system, known, shards, read.holders)
    const free = shards.map(shard => ({ shard, room: roomIn(known, shard, max) })).sort(byRoom)[0]
    if (free && free.room > 0 && (await isGranted(free.shard))) return undefined
    found = { ...found, ...read, holders: [...found.holders, ...read.holders] }
  }
  return found
}

/** The shard of a permit that a dispatch has named. Each name is used once. */
function hintedShard({ clock }: System, { hints }: Known, max: number): number | undefined {
  for (let hint = hints.shift(); hint; hint = hints.shift()) {
    if (isWithin(clock, hint.at, HINT_MS) && permitsIn(hint.shard, max) > 0) return hint.shard
  }
  return undefined
}

type Room = { readonly shard: number; readonly room: number }

/** The shard that is known to have the most free permits, if there are so many that a refused write is unlikely. */
function roomiest(system: System, known: Known, max: number): number | undefined {
  const [first] = knownRooms(system, known, max, SURE_MS)
  return first && first.room >= FREE_PERMITS_MIN ? first.shard : undefined
}

/** All shards, in the order in which they are read: first the ones known to have room, last the ones known to be full. */
function searchOrder(system: System, known: Known, max: number): number[] {
  const rooms = new Map(knownRooms(system, known, max, KNOWN_MS).map(({ shard, room }) => [shard, room]))
  return shardsOf(max)
    .map(shard => ({ shard, room: rooms.get(shard) ?? system.chance.fraction() }))
    .sort(byRoom)
    .map(({ shard }) => shard)
}

function knownRooms({ clock }: System, known: Known, max: number, withinMs: number): Room[] {
  return [...known.shards]
    .filter(([, { readAt }]) => isWithin(clock, readAt, withinMs))
    .map(([shard]) => ({ shard, room: roomIn(known, shard, max) }))
    .sort(byRoom)
}

function byRoom(a: Room, b: Room): number {
  return b.room - a.room
}

function roomIn({ shards }: Known, shard: number, max: number): number {
  const { held = 0, pending = 0 } = shards.get(shard) ?? {}
  return permitsIn(shard, max) - held - pending
}

function learn(
  { clock }: System,
  known: Known,
  shards: readonly number[],
  holders: HeldPermits['holders'],
): void {
  const held = heldByShard(holders)
  for (const shard of shards) {
    const pending = known.shards.get(shard)?.pending ?? 0
    const entry = { held: held.get(shard) ?? 0, pending, readAt: momentOf(clock) }
    known.shards.set(shard, Object.assign(known.shards.get(shard) ?? entry, entry))
  }
}
