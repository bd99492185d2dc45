import { type Head, isTask } from '../../core/task/head.ts'
import type { Operation } from '../../core/task/head-fields.ts'
import { liveRuns, workersWanted } from '../../core/task/task.ts'

/**
 * A writer that lost a race for a head waits, reads the head again, and decides anew. This file says how long it waits.
 * A lost write costs the write units of the whole item. So rival writers must spread over the time that their writes need
 * one after the other.
 *
 * The wait is a random part of a window. At first the window is as long as a few writes. It grows with each lost race, since
 * each one shows that there are more rivals than assumed. At most it is as long as the writes of all possible rivals.
 *
 * A claim has as many rivals as the task wants workers, since live runs seldom write. So each claim shrinks the window's
 * bound. The bound grows slowly with the races that one writer has lost, so that no writer loses again and again.
 *
 * Simulated, 100 claims at one moment with writes of 5 to 15 ms take 4 writes each, at most 8, and the last one ends after
 * 2.7 to 4.2 s. When live runs counted as rivals too, the claims took 3.6 writes and 4.8 to 5.8 s. The same 100 claims
 * through six processes, each busy with one claim at a time, take 1.6 writes and 3.4 to 5.4 s instead of 5.6 to 7.8 s.
 * Windows that reach their full length at once make two rivals wait as long as a hundred.
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

export type LostRaces = {
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
 * How many processes may want to write the head at one moment. For a task these are possible claimers, workers with live runs, and
 * one more; a claim does not count the live runs. A canvas or a schedule is written by a request and by the process that works
 * on it.
 */
function rivalsFor(head: Head | undefined, operation: Operation): number {
  if (head?.state !== 'open') return 1
  if (!isTask(head)) return 2
  const claimers = Math.max(0, workersWanted(head))
  return operation === 'claim' ? claimers + 1 : liveRuns(head).length + claimers + 1
}
