import type { Claimer } from '../../core/run/claim.ts'
import type { Worker } from '../../core/worker/worker.ts'
import { elapsedSince, type Moment, momentOf } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import type { HttpWorkers, WaitHistory } from '../worker/announce-http-workers.ts'
import type { Claimed } from './claim.ts'
import type { ClaimResult } from './claim-ready.ts'

/**
 * How a claim over HTTP waits for work.
 *
 * A claim that waits holds an execution of its function, and an account has 1,000 of them or, when it is new, 10. So a
 * worker may wait twice in a row without finding work. From then on each claim is answered at once and says when to ask
 * again, until a claim finds work. Requests of one worker reach different processes, so the count stands with the worker in
 * the registry, where a sign of life is written every ten seconds anyway. A claim that may wait costs one read there. Only a
 * wait that lasts longer than a second is written down, so neither a busy nor an idle worker pays a write per claim.
 *
 * How many claims wait at a time is bounded, too. Such a wait shows until when it lasts, and one that finds too many
 * others is ended. Tasks that are there are handed out in any case.
 */

export type ClaimPace = {
  /** When an idle worker is to ask again, in milliseconds. */
  readonly retryAfterMs: number
  /** Claims that may wait for longer than a second at a time. */
  readonly maxWaiting: number
}

export const DEFAULT_PACE: ClaimPace = { retryAfterMs: 2_000, maxWaiting: 50 }

/** What a claim came to. `isRefused`: it found nothing, and too many others wait. */
export type WaitOutcome = {
  readonly claimed: readonly Claimed[]
  readonly retryAfterMs?: number
  readonly isRefused?: boolean
}

/** One look for work, and when a limit may allow the next start. */
type TryOnce = () => Promise<Pick<ClaimResult, 'claimed' | 'nextStart'>>

type Wait = {
  readonly claimer: Claimer
  readonly types: readonly string[]
  readonly waitMs: number
  readonly pace: ClaimPace
  readonly workers: HttpWorkers
  readonly tryOnce: TryOnce
}

/** Waits that a worker may spend in vain, one after the other. */
const MAX_EMPTY_WAITS = 2

/** Work that comes within this time of the claim is found within 60 ms on average. */
const BRISK_MS = 1_000
const BRISK_POLL_MS = 150
/** After that the pauses grow; each is shorter by chance, so that many waiting workers do not ask at once. */
const LAST_POLL_MS = 1_000
const POLL_GROWTH = 1.5
const POLL_JITTER = 0.5
/** Many may wait for the same start. */
const START_JITTER_MS = 50

/** Claims what is there, or waits for it as long as the worker may. */
export async function waitForWork(system: System, wait: Wait): Promise<WaitOutcome> {
  const { claimer, types, waitMs, pace, workers, tryOnce } = wait
  if (waitMs <= 0) {
    await workers.recordActivity(claimer, types)
    return tryOnce()
  }
  const arrival = await workers.beginWait(claimer, types)
  const first = await tryOnce()
  if (first.claimed.length > 0) {
    await arrival.record(arrival.emptyWaits > 0 ? {} : undefined)
    return first
  }
  if (arrival.emptyWaits >= MAX_EMPTY_WAITS) {
    await arrival.record()
    return { claimed: [], retryAfterMs: pace.retryAfterMs }
  }
  return waitOn(system, wait, arrival, first.nextStart)
}

/** The wait itself: brisk at first, then shown in the registry and slower. */
async function waitOn(
  system: System,
  wait: Wait,
  arrival: WaitHistory,
  nextStart: number,
): Promise<WaitOutcome> {
  const { waitMs, pace, claimer } = wait
  const begun = momentOf(system.clock)
  const emptyWaits = arrival.emptyWaits + 1
  const brisk = await poll(system, wait, {
    begun,
    endMs: Math.min(waitMs, BRISK_MS),
    isBrisk: true,
    nextStart,
  })
  if (brisk.claimed.length > 0) {
    await arrival.record(arrival.emptyWaits > 0 ? {} : undefined)
    return brisk
  }
  const leftMs = waitMs - elapsedSince(system.clock, begun)
  if (leftMs <= 0) {
    await arrival.record({ emptyWaits })
    return brisk
  }
  if ((await othersWaiting(system, claimer)) >= pace.maxWaiting) {
    await arrival.record({ emptyWaits })
    return { claimed: [], isRefused: true, retryAfterMs: pace.retryAfterMs }
  }
  await arrival.record({ emptyWaits, waitingUntil: system.clock.now() + leftMs })
  const found = await poll(system, wait, { begun, endMs: waitMs, isBrisk: false, nextStart: brisk.nextStart })
  if (found.claimed.length > 0) await arrival.record({})
  return found
}

type Polling = {
  readonly begun: Moment
  /** Milliseconds after `begun` at which the polling ends. */
  readonly endMs: number
  /** Whether the pauses stay short. */
  readonly isBrisk: boolean
  readonly nextStart: number
}

/** Looks again and again; earlier when a rate limit may let something begin. */
async function poll(
  system: System,
  { claimer, types, workers, tryOnce, waitMs }: Wait,
  { begun, endMs, isBrisk, nextStart }: Polling,
): Promise<Pick<ClaimResult, 'claimed' | 'nextStart'>> {
  const { clock, chance } = system
  let last: Pick<ClaimResult, 'claimed' | 'nextStart'> = { claimed: [], nextStart }
  for (let pause = BRISK_POLL_MS; ; pause = isBrisk ? pause : Math.min(pause * POLL_GROWTH, LAST_POLL_MS)) {
    const spentMs = elapsedSince(clock, begun)
    if (spentMs >= endMs) return last
    const by = chance.fraction()
    const startsInMs = last.nextStart - clock.now()
    const isSoon = startsInMs <= LAST_POLL_MS
    const sleepMs = isSoon ? startsInMs + START_JITTER_MS * by : pause * (1 - POLL_JITTER * by)
    await clock.sleep(Math.min(waitMs - spentMs, Math.max(1, sleepMs)))
    if (!isBrisk) await workers.recordActivity(claimer, types)
    last = await tryOnce()
    if (last.claimed.length > 0) return last
  }
}

/** Claims of other workers that show that they wait. When the registry does not answer, this one may wait. */
async function othersWaiting({ workers, clock, log }: System, { workerId }: Claimer): Promise<number> {
  const now = clock.now()
  const isOther = (worker: Worker) => worker.workerId !== workerId && (worker.waitingUntil ?? 0) > now
  try {
    return (await workers.list()).filter(isOther).length
  } catch (error) {
    log.warn('waiting workers could not be counted', { error })
    return 0
  }
}
