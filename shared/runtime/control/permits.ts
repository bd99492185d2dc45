import { isSurelyHeld, isTended, NOTE_LIFE_MS, TEND_INTERVAL_S } from '../../core/control/held-permits.ts'
import { liveRuns, type Permit, type Task } from '../../core/task.ts'
import type { ConcurrencyLimit } from '../../core/task-type.ts'
import type { System } from '../system.ts'
import type { Limited } from './limits-of.ts'

const HOLDER_LENGTH = 10
const MAX_ROUNDS = 20

/** A permit of each limit, recorded at `since` or later, or which of them is used up. */
export type Acquired =
  | { readonly ok: true; readonly permits: readonly Permit[]; readonly since: number }
  | { readonly ok: false; readonly usedUp: Limited<ConcurrencyLimit> }

/** Records a holder under each limit for a run of the task that is about to begin. All or none. */
export async function acquirePermits(
  system: System,
  task: Task,
  limits: readonly Limited<ConcurrencyLimit>[],
): Promise<Acquired> {
  const since = system.clock.now()
  const permits: Permit[] = []
  for (const limited of limits) {
    const permit = { limit: limited.name, holder: newHolder(system) }
    if (await acquire(system, task, permit, limited)) {
      permits.push(permit)
      continue
    }
    await giveBack(system, permits)
    return { ok: false, usedUp: limited }
  }
  return { ok: true, permits, since }
}

function newHolder({ chance, clock }: System): string {
  return chance.ulid(clock.now()).slice(-HOLDER_LENGTH)
}

/** False when all permits are held, and it is noted that somebody waits for one. */
async function acquire(
  system: System,
  task: Task,
  { holder }: Permit,
  { name, limit }: Limited<ConcurrencyLimit>,
): Promise<boolean> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const now = system.clock.now()
    const held = await system.limits.acquire(name, { holder, taskId: task.id, since: now }, limit.max)
    if (!held) return true
    if (isTended(held, now)) return false
    const seen = await system.limits.noteWaiting(name, now, {
      max: limit.max,
      staleAt: now - NOTE_LIFE_MS,
    })
    if (!seen) {
      await lookLater(system, name, now)
      return false
    }
    // Others have noted it, or a permit was given back to nobody: then there is room after all.
    if (seen.holders.length >= limit.max) return false
  }
  return false
}

async function lookLater(system: System, limit: string, since: number): Promise<void> {
  const look = { limit, quiet: 0, since, delaySeconds: TEND_INTERVAL_S }
  const [failure] = await system.messages.lookAtLimits([look])
  if (failure)
    system.log.warn('the sweeper will have to see to those who wait for a limit', { limit, ...failure })
}

/**
 * Whether permits that were recorded at `since` or later are still held by the run of a claim that has been written: one that
 * took too long for its holder to be believed may have lost them to others. From then on its task speaks for it.
 */
export async function stillHolds(
  system: System,
  permits: readonly Permit[],
  since: number,
): Promise<boolean> {
  if (isSurelyHeld(since, system.clock.now())) return true
  for (const { limit, holder } of permits) {
    if (!(await system.limits.keep(limit, holder, system.clock.now()))) return false
  }
  return true
}

/**
 * Gives permits back, and has the waker let in who waits for them. Never fails: a permit that stays recorded is found to be
 * stale when somebody waits for it.
 */
export async function giveBack(system: System, permits: readonly Permit[]): Promise<void> {
  for (const { limit, holder } of permits) {
    try {
      const { waitsSince } = await system.limits.release(limit, holder)
      if (waitsSince !== undefined) await system.messages.lookAtLimits([{ limit, delaySeconds: 0 }])
    } catch (error) {
      system.log.warn('a permit was not given back', { limit, holder, error })
    }
  }
}

/** The permits of the runs that have ended between two states of a task. */
export function permitsLeft(before: Task | undefined, after: Task): Permit[] {
  if (!before) return []
  return liveRuns(before)
    .filter(({ fence }) => before.born !== after.born || !after.live[fence])
    .flatMap(({ permits = [] }) => permits)
}
