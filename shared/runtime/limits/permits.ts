import {
  decideWithoutPermit,
  FRESH_HOLDER_MS,
  freePermitsIn,
  type HeldPermits,
  holderIn,
  permitsIn,
  SHARD_PERMITS_MAX,
  shardOf,
  shardsOf,
  WAIT_NOTE_LIFE_MS,
} from '../../core/limits/held-permits.ts'
import type { NamedLimit } from '../../core/limits/limits.ts'
import { type Head, isTask } from '../../core/task/head.ts'
import { liveRuns, type Task } from '../../core/task/task.ts'
import type { Permit } from '../../core/task/wait.ts'
import type { ConcurrencyLimit } from '../../core/types/task-type.ts'
import { isWithin, type Moment, momentOf } from '../kernel/moment.ts'
import { processMemory } from '../kernel/process-memory.ts'
import type { ChangeHook, System } from '../kernel/system.ts'
import { createTimedCache } from '../kernel/timed-cache.ts'
import { noteHeld, takeInShards } from './free-permits.ts'

const ROUNDS_MAX = 20
/** A process reads the wait note of a limit at most this often. `FIRST_LOOK_S` covers the releases that have not seen a note. */
const NOTE_CACHE_MS = 1_000

const noteCacheOf = processMemory(() => createTimedCache<HeldPermits>(NOTE_CACHE_MS))

/** A permit of each limit, recorded at `since` or later; or the limit that has no free permit, and why. */
export type Acquired =
  | { readonly ok: true; readonly permits: readonly Permit[]; readonly since: Moment }
  | { readonly ok: false; readonly why: Unavailable; readonly limit: string }

/**
 * Why a limit gives no permit.
 *
 * - `used-up`        all permits are held, and the limit's item notes that a task waits for one
 * - `being-claimed`  all permits are held, one of them for a run of the same task that is about to begin
 */
type Unavailable = 'used-up' | 'being-claimed'

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
    if (typeof permit === 'string') {
      await releasePermits(system, permits)
      return { ok: false, why: permit, limit: limited.name }
    }
    permits.push(permit)
  }
  return { ok: true, permits, since }
}

async function acquire(
  system: System,
  task: Task,
  limited: NamedLimit<ConcurrencyLimit>,
): Promise<Permit | Unavailable> {
  const { chance, clock, limits } = system
  const { name, limit } = limited
  for (let round = 0; round < ROUNDS_MAX; round++) {
    let holder = ''
    const held = await takeInShards(system, name, limit.max, shard => {
      const since = clock.now()
      holder = holderIn(shard, chance.ulid(since))
      return limits.acquire(name, { holder, taskId: task.id, since }, permitsIn(shard, limit.max))
    })
    if (!held) return { limit: name, holder }
    const unavailable = await noteUsedUp(system, task, limited, held)
    if (unavailable) return unavailable
    // A permit was released meanwhile. The next round takes it.
  }
  return 'used-up'
}

/** Notes that a task waits, unless a note exists. Undefined when a permit was released before the note. */
async function noteUsedUp(
  { clock, limits }: System,
  task: Task,
  { name, limit: { max } }: NamedLimit<ConcurrencyLimit>,
  held: HeldPermits,
): Promise<Unavailable | undefined> {
  const now = clock.now()
  const decided = decideWithoutPermit(task, held, now)
  if (decided !== 'note-wait') return decided === 'leave' ? 'being-claimed' : 'used-up'
  const inFirst = permitsIn(0, max)
  const seen = await limits.noteWaiting(name, now, { max: inFirst, staleAt: now - WAIT_NOTE_LIFE_MS })
  // Otherwise another process wrote the note, or shard 0 has a free permit.
  if (seen) return seen.holders.length >= inFirst ? 'used-up' : undefined
  // This process wrote the note. The planner begins the looks at the limit when the stream shows it the note.
  if (max <= SHARD_PERMITS_MAX) return 'used-up'
  // A release in another shard is reported only after its process has seen the note, so the shards are read once more.
  const after = await limits.permits(name, shardsOf(max))
  return freePermitsIn(shardsOf(max), max, after.holders) > 0 ? undefined : 'used-up'
}

/**
 * Whether the run of a claim that has been written still holds its permits, which were recorded at `since` or later. A
 * claim that took long may have lost them: its holders may have been removed as stale. Confirmed holders are not
 * removed, since the task's head names them.
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
      const { waitNotedAt } = shardOf(holder) > 0 ? await noteOf(system, limit) : {}
      noteHeld(system, limit, holder, await system.limits.release(limit, holder, { waitNotedAt }))
    } catch (error) {
      system.log.warn('a permit was not released', { limit, holder, error })
    }
  }
}

/** The note that tasks wait, as it was within the last second. */
async function noteOf({ limits, clock }: System, limit: string): Promise<HeldPermits> {
  return (await noteCacheOf(limits).get(clock, limit, () => limits.permits(limit, [0]))).value
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
