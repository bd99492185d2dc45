import { liveRuns, type Operation, openSlots, type Task } from '../../core/task/task.ts'

/**
 * How long a writer waits after it lost a race for a head, before it reads the head again and decides anew. A lost write
 * costs the units of the whole item, so that a crowd must spread out over the time its writes need one after the other.
 *
 * The wait is a random part of a window. The window begins at a few writes' time and grows with each conflict, since each
 * shows that the crowd is larger than assumed, up to the time that all possible rivals need. The rivals of a claim are as
 * many as the task has open slots: runs that live seldom write. So the bound shrinks as slots are taken, and it grows slowly
 * with the conflicts of one writer, so that none loses again and again.
 *
 * Simulated, 100 claims at one moment with writes of 5 to 15 ms take 4 writes each, at most 8, and 2.7 to 4.2 s until the
 * last one. While live runs counted as rivals too, they took 3.6 writes and 4.8 to 5.8 s. The same 100 through six processes,
 * each of which is busy with its claim while that waits, take 1.6 writes and 3.4 to 5.4 s instead of 5.6 to 7.8 s. Windows that
 * reach their full length at once make two rivals wait as long as a hundred.
 */
const FIRST_WINDOW_WRITES = 4
const WINDOW_GROWTH = 6
const SHARE_GROWTH = 0.75
const WRITE_MS_MIN = 5
/** A write that took longer waited in a line, which a longer window would not shorten. */
const WRITE_MS_MAX = 25
/** So few rivals are done after one more write each. */
const FEW_RIVALS = 2

/** A write that was refused, when it was sent, and when its refusal came. */
type Refused = { readonly current: Task | undefined; readonly sentAt: number; readonly answeredAt: number }

/**
 * Whether a refused write was lost to another one at about the same time. Else it was decided on an outdated copy of the task, as
 * a dispatch carries one, and says nothing about rivals: the next try may come at once.
 */
export function isLostRace({ current, sentAt, answeredAt }: Refused): boolean {
  const writeMs = Math.max(WRITE_MS_MAX, answeredAt - sentAt)
  return current === undefined || current.updatedAt + 2 * writeMs >= sentAt
}

export type Conflicts = {
  /** Races that this writer has lost in a row for one change. */
  readonly count: number
  /** How long its last write took. */
  readonly writeMs: number
  /** What it wants to write. */
  readonly operation: Operation
}

/** The wait before the next try, in ms; 0: at once, on the head that the lost write has brought. `chance` is 0 to 1. */
export function conflictWaitMs(
  task: Task | undefined,
  { count, writeMs, operation }: Conflicts,
  chance: number,
): number {
  const rivals = rivalsFor(task, operation)
  if (count === 0 || (count === 1 && rivals <= FEW_RIVALS)) return 0
  const write = Math.min(WRITE_MS_MAX, Math.max(WRITE_MS_MIN, writeMs))
  const all = rivals * write * (1 + SHARE_GROWTH * (count - 1))
  const grown = FIRST_WINDOW_WRITES * write * WINDOW_GROWTH ** (count - 1)
  return Math.ceil(Math.min(all, grown) * chance)
}

/** How many processes may want to write to the task at one moment: those that may begin a run, its workers, and one more. */
function rivalsFor(task: Task | undefined, operation: Operation): number {
  if (task?.state !== 'open') return 1
  const claimers = Math.max(0, openSlots(task))
  return operation === 'claim' ? claimers + 1 : liveRuns(task).length + claimers + 1
}
