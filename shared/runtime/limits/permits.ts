import {
  FRESH_HOLDER_MS,
  holderIn,
  isBeingClaimed,
  mayBeStale,
  type NamedLimit,
  permitsIn,
} from '../../core/limits/limits.ts'
import { type Head, isTask } from '../../core/task/head.ts'
import { liveRuns, type Permit, type Task } from '../../core/task/task.ts'
import type { ConcurrencyLimit } from '../../core/types/task-type.ts'
import { isWithin, type Moment, momentOf } from '../kernel/moment.ts'
import type { ChangeHook, System } from '../kernel/system.ts'
import { noteHeld, takeInShards } from './free-permits.ts'

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
