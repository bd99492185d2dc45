import type { Decision } from '../../core/change/change.ts'
import { bodiesExpiringBefore, type Head, type OfKind } from '../../core/task/head.ts'
import { BODY_ALERT_MS, isolateEach, sideBySide } from '../kernel/heads.ts'
import { transactBirth } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'

/**
 * What all repairs of the sweeper share. A repair mends one kind of loss, in rounds that come every minute; `sweep/sweep.ts`
 * lists the repairs and runs them. The code of a repair belongs to the room of the repaired feature. That list imports those rooms, and
 * they import this one, so this room knows no feature.
 *
 * A round of a repair
 * - reads a bounded number of items, however many there are: what changed recently, and the next items after a cursor
 *   (`read-from-cursor.ts`);
 * - repeats only work that may be done twice, because what seems lost may only be late;
 * - continues with the other items when one fails (`sweepEach`);
 * - renews the bodies of heads that wait for long (`renewAgeingBodies`).
 */

/** What a round did. */
export type SweepReport = {
  /** How many heads of tasks, canvases and schedules it read. */
  readonly examined: number
  /** How much it put right: messages that it sent again, schedules that it ticked, dead workers that it took out. */
  readonly repaired: number
  readonly failed: number
}

export const NOTHING_SWEPT: SweepReport = { examined: 0, repaired: 0, failed: 0 }

/** The report of several rounds, or of several parts of one. */
export function sumOf(reports: readonly SweepReport[]): SweepReport {
  return reports.reduce(
    (sum, { examined, repaired, failed }) => ({
      examined: sum.examined + examined,
      repaired: sum.repaired + repaired,
      failed: sum.failed + failed,
    }),
    NOTHING_SWEPT,
  )
}

/**
 * Sweeps each item, at most `most` at a time. An item that cannot be swept counts as failed and does not stop the others;
 * `logFailure` says in the log which one it is.
 */
export async function sweepEach<Item>(
  items: readonly Item[],
  most: number,
  sweepOne: (item: Item) => Promise<SweepReport>,
  logFailure: (item: Item, error: unknown) => void,
): Promise<SweepReport> {
  const reports = await sideBySide(items, most, async item => {
    try {
      return await sweepOne(item)
    } catch (error) {
      logFailure(item, error)
      return { ...NOTHING_SWEPT, failed: 1 }
    }
  })
  return sumOf(reports)
}

/**
 * Renews the bodies of open heads that wait untouched for so long that their bodies expire within days. The kernel renews
 * them at any change, so `touch`, a transition that changes nothing, is enough.
 */
export async function renewAgeingBodies<H extends Head>(
  system: System,
  heads: readonly H[],
  most: number,
  touch: (current: OfKind<H>, now: number) => Decision<string, OfKind<H>>,
): Promise<void> {
  const now = system.clock.now()
  const ageing = heads.filter(
    head => head.state === 'open' && bodiesExpiringBefore(head, now + BODY_ALERT_MS).length > 0,
  )
  await isolateEach(system, ageing, most, seen => transactBirth(system, seen, current => touch(current, now)))
}

/** A message that has been silent for this long counts as lost even while other messages wait in the jobs queue. */
const SILENCE_MS_MAX = 15 * 60_000

/**
 * Returns a function that judges whether the message of a job or a canvas is lost, given the time of its last
 * sign of life.
 *
 * Silence alone is not enough. Behind a large resume a message may wait for minutes, and each copy of it would
 * make the queue longer. The queue is measured at most once per detector, and only when something is silent.
 */
export function lostMessageDetector(
  { messages, clock }: Pick<System, 'messages' | 'clock'>,
  silentMs: number,
): (lastSign: number) => Promise<boolean> {
  let waiting: Promise<number> | undefined
  return async lastSign => {
    const silence = clock.now() - lastSign
    if (silence < silentMs) return false
    if (silence >= SILENCE_MS_MAX) return true
    waiting ??= messages.waitingJobs()
    return (await waiting) === 0
  }
}
