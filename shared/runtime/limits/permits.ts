import {
  FRESH_HOLDER_MS,
  hasLiveWaitNote,
  isBeingClaimed,
  WAIT_NOTE_LIFE_MS,
} from '../../core/limits/held-permits.ts'
import { liveRuns, type Task } from '../../core/task/task.ts'
import type { Permit } from '../../core/task/wait.ts'
import type { ConcurrencyLimit } from '../../core/types/task-type.ts'
import { isWithin, type Moment, momentOf } from '../kernel/moment.ts'
import type { ChangeHook, System } from '../kernel/system.ts'
import type { NamedLimit } from './limits.ts'

const HOLDER_LENGTH = 10
const MAX_ROUNDS = 20

/** A permit of each limit, recorded at `since` or later, or why not. */
export type Acquired =
  | { readonly ok: true; readonly permits: readonly Permit[]; readonly since: Moment }
  | { readonly ok: false; readonly why: Unavailable; readonly limit: string }

/**
 * - `used-up`        all are held, and it is noted that somebody waits for one
 * - `being-claimed`  all are held, one of them for a run of the same task that is about to begin
 */
type Unavailable = 'used-up' | 'being-claimed'

/** Records a holder under each limit for a run of the task that is about to begin. All or none. */
export async function acquirePermits(
  system: System,
  task: Task,
  limits: readonly NamedLimit<ConcurrencyLimit>[],
): Promise<Acquired> {
  const since = momentOf(system.clock)
  const permits: Permit[] = []
  for (const limited of limits) {
    const permit = { limit: limited.name, holder: newHolder(system) }
    const unavailable = await acquire(system, task, permit, limited)
    if (unavailable) {
      await releasePermits(system, permits)
      return { ok: false, why: unavailable, limit: limited.name }
    }
    permits.push(permit)
  }
  return { ok: true, permits, since }
}

function newHolder({ chance, clock }: System): string {
  return chance.ulid(clock.now()).slice(-HOLDER_LENGTH)
}

async function acquire(
  system: System,
  task: Task,
  { holder }: Permit,
  { name, limit }: NamedLimit<ConcurrencyLimit>,
): Promise<Unavailable | undefined> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const now = system.clock.now()
    const held = await system.limits.acquire(name, { holder, taskId: task.id, since: now }, limit.max)
    if (!held) return undefined
    if (isBeingClaimed(task, held.holders, now)) return 'being-claimed'
    if (hasLiveWaitNote(held, now)) return 'used-up'
    const seen = await system.limits.noteWaiting(name, now, {
      max: limit.max,
      staleAt: now - WAIT_NOTE_LIFE_MS,
    })
    // The planner begins the looks at the limit when the stream shows it the note.
    if (!seen) return 'used-up'
    // Others have noted it, or a permit was given back to nobody: then there is room after all.
    if (seen.holders.length >= limit.max) return 'used-up'
  }
  return 'used-up'
}

/**
 * Whether permits that were recorded at `since` or later are still held by the run of a claim that has been written: one that
 * took too long for its holder to be believed may have lost them to others. From then on its task speaks for it.
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
 * Gives permits back. Where tasks wait for them, the table's stream tells the planner, which sends the waker to admit the
 * next. Never fails: the looks at the limit find a permit that stays recorded to be stale.
 */
export async function releasePermits(system: System, permits: readonly Permit[]): Promise<void> {
  for (const { limit, holder } of permits) {
    try {
      await system.limits.release(limit, holder)
    } catch (error) {
      system.log.warn('a permit was not given back', { limit, holder, error })
    }
  }
}

/** Each change gives back the permits of the runs that it has ended. */
export const PERMIT_HOOK: ChangeHook = {
  written: (system, before, after) => releasePermits(system, permitsLeft(before, after)),
}

/** The permits of the runs that have ended between two states of a task. */
function permitsLeft(before: Task | undefined, after: Task): Permit[] {
  if (!before) return []
  return liveRuns(before)
    .filter(({ fence }) => before.born !== after.born || !after.live[fence])
    .flatMap(({ permits = [] }) => permits)
}
