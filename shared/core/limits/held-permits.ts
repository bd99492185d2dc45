import { liveRuns, type Task } from '../task/task.ts'

/** Those who wait are seen to so often, whatever message gets lost, */
export const LIMIT_LOOK_INTERVAL_S = 15
/** and so soon again after waits were ended: one that nobody can run must not keep those behind it for so long. */
export const LIMIT_LOOK_SOON_S = 5
/** Who is recorded so long has claimed its task, or never will. */
const GRACE_MS = 10_000
/** A holder that was recorded less than this ago cannot count as stale: clocks are not that far apart. */
export const FRESH_HOLDER_MS = 5_000
/** A note that somebody waits, older than this, means that nobody sees to them any more. */
export const WAIT_NOTE_LIFE_MS = 4 * LIMIT_LOOK_INTERVAL_S * 1_000

/** Whose run holds a permit: who recorded it, for which task, and when. */
export type Holder = { readonly holder: string; readonly taskId: string; readonly since: number }

/**
 * All that is recorded of a concurrency limit; `waitsSince`: when it was last seen to that somebody waits for a permit. It also
 * tells whose look comes again: one series of looks sees to a limit.
 */
export type HeldPermits = { readonly holders: readonly Holder[]; readonly waitsSince?: number }

/**
 * What the table's stream tells the planner of a limit while tasks wait for it. Handlers send no messages about limits: a
 * chain handler, waker, handler has no table between, and Lambda would cut it after 16 rounds.
 *
 * - `freed`  a permit was given back
 * - `noted`  a task waits, and no look sees to the limit yet; `since` is the time of that note
 */
export type LimitChange =
  | { readonly kind: 'freed'; readonly limit: string }
  | { readonly kind: 'noted'; readonly limit: string; readonly since: number }

/**
 * A message that makes the waker see to the tasks that wait for permits of a limit. It comes again as long as tasks wait;
 * `quiet`: how often in a row none did; `since`: the note that it goes by. Both left out: `given` permits were given back (one
 * when left out), and the message comes once. `delaySeconds` is a whole number from 0 to 900.
 */
export type LimitLook = {
  readonly limit: string
  readonly quiet?: number
  readonly since?: number
  readonly given?: number
  readonly delaySeconds: number
}

/** Whether it is noted that somebody waits, and somebody sees to them. */
export function hasLiveWaitNote({ waitsSince }: HeldPermits, now: number): boolean {
  return waitsSince !== undefined && waitsSince + WAIT_NOTE_LIFE_MS > now
}

/** Whether a holder whose task knows nothing of it is taken out. */
export function mayBeStale({ since }: Holder, now: number): boolean {
  return since + GRACE_MS <= now
}

/**
 * Whether somebody has a permit for another run of the task, which has not begun as far as its head tells, and may soon. One
 * that is older than the head has ended, or its claim will be refused.
 */
export function isBeingClaimed(task: Task, holders: readonly Holder[], now: number): boolean {
  const begun = new Set(liveRuns(task).flatMap(({ permits = [] }) => permits.map(({ holder }) => holder)))
  const mayBegin = ({ holder, since }: Holder) => since >= task.updatedAt && !begun.has(holder)
  return holders.some(one => one.taskId === task.id && mayBegin(one) && !mayBeStale(one, now))
}
