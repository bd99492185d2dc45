import type { Claimer } from '../../core/run/claim.ts'
import type { Worker } from '../../core/worker.ts'
import { elapsedSince, type Moment, momentOf, type System } from '../kernel/system.ts'
import type { HttpWorkers, WaitHistory } from '../worker/announce-http-workers.ts'
import type { ClaimResult } from './claim-ready.ts'
import type { Claimed } from './claimed-task.ts'

/**
 * How a claim over HTTP waits for work.
 *
 * A waiting claim occupies one execution of its function. An account has 1,000 executions, or 10 when it is new. So a worker may wait twice
 * in a row without finding work. After that, each claim is answered at once and says when to ask again, until a claim finds work.
 *
 * Requests of one worker reach different processes. So the count of empty waits is kept with the worker in the registry, where a sign of
 * life is written every ten seconds anyway. A claim that may wait costs one read there. Only a wait of more than a second is written, so
 * neither a busy nor an idle worker pays a write per claim.
 *
 * The number of claims that wait at one time is bounded, too. Each such wait records its end in the registry. A claim that finds too many
 * other claims waiting is ended. Tasks that can be claimed are handed out in any case.
 */

export type ClaimPace = {
  /** How long an idle worker has to wait before it asks again, in milliseconds. */
  readonly retryAfterMs: number
  /** How many claims may wait for longer than a second at one time. */
  readonly maxWaiting: number
}

export const DEFAULT_PACE: ClaimPace = { retryAfterMs: 2_000, maxWaiting: 50 }

/** The outcome of a claim that may wait. `isRefused`: it found no task, and too many other claims wait. */
export type WaitOutcome = {
  readonly claimed: readonly Claimed[]
  readonly retryAfterMs?: number
  readonly isRefused?: boolean
}

/** What one try has claimed, and when a slot of a rate limit may be free. */
export type Tried = Pick<ClaimResult, 'claimed' | 'nextSlotAt'>

/** Tries once to claim, and says when a slot of a rate limit may be free. */
type TryOnce = () => Promise<Tried>

type Wait = {
  readonly claimer: Claimer
  readonly types: readonly string[]
  readonly waitMs: number
  readonly pace: ClaimPace
  readonly workers: HttpWorkers
  readonly tryOnce: TryOnce
}

/** A worker may wait this many times in a row without finding work. */
const EMPTY_WAITS_MAX = 2

/** During this time of a wait, the polls are so frequent that new work is found within 60 ms on average. */
const BRISK_MS = 1_000
const BRISK_POLL_MS = 150
/** After the brisk time, the pauses between polls grow to this length. */
const POLL_MS_MAX = 1_000
const POLL_GROWTH = 1.5
/** Each pause is shortened by a random part, up to this share, so that many waiting workers do not poll at once. */
const POLL_JITTER = 0.5
/** A poll for the next slot of a rate limit is delayed by a random time up to this, since many may wait for that slot. */
const START_JITTER_MS = 50

/** Claims waiting tasks, or waits for one as long as the worker may. */
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
  if (arrival.emptyWaits >= EMPTY_WAITS_MAX) {
    await arrival.record()
    return { claimed: [], retryAfterMs: pace.retryAfterMs }
  }
  return waitOn(system, wait, arrival, first.nextSlotAt)
}

/** Waits for work: polls briskly at first; then records the wait in the registry and polls more slowly. */
async function waitOn(
  system: System,
  wait: Wait,
  arrival: WaitHistory,
  nextSlotAt: number,
): Promise<WaitOutcome> {
  const { waitMs, pace, claimer } = wait
  const begun = momentOf(system.clock)
  const emptyWaits = arrival.emptyWaits + 1
  const brisk = await poll(system, wait, {
    begun,
    endMs: Math.min(waitMs, BRISK_MS),
    isBrisk: true,
    nextSlotAt,
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
  const found = await poll(system, wait, {
    begun,
    endMs: waitMs,
    isBrisk: false,
    nextSlotAt: brisk.nextSlotAt,
  })
  if (found.claimed.length > 0) await arrival.record({})
  return found
}

type Polling = {
  readonly begun: Moment
  /** Milliseconds after `begun` at which the polling ends. */
  readonly endMs: number
  /** Whether the pauses stay short. */
  readonly isBrisk: boolean
  readonly nextSlotAt: number
}

/** Polls for work until a claim succeeds or the time ends. It polls earlier when a slot of a rate limit may be free. */
async function poll(
  system: System,
  { claimer, types, workers, tryOnce, waitMs }: Wait,
  { begun, endMs, isBrisk, nextSlotAt }: Polling,
): Promise<Tried> {
  const { clock, chance } = system
  let last: Tried = { claimed: [], nextSlotAt }
  for (let pause = BRISK_POLL_MS; ; pause = isBrisk ? pause : Math.min(pause * POLL_GROWTH, POLL_MS_MAX)) {
    const spentMs = elapsedSince(clock, begun)
    if (spentMs >= endMs) return last
    const random = chance.fraction()
    const slotInMs = last.nextSlotAt - clock.now()
    const isSoon = slotInMs <= POLL_MS_MAX
    const sleepMs = isSoon ? slotInMs + START_JITTER_MS * random : pause * (1 - POLL_JITTER * random)
    await clock.sleep(Math.min(waitMs - spentMs, Math.max(1, sleepMs)))
    if (!isBrisk) await workers.recordActivity(claimer, types)
    last = await tryOnce()
    if (last.claimed.length > 0) return last
  }
}

/**
 * How many other workers have a waiting claim in the registry. 0 when the registry does not answer, so that the caller's claim may wait.
 */
async function othersWaiting({ workers, clock, log }: System, { workerId }: Claimer): Promise<number> {
  const now = clock.now()
  const isOther = (worker: Worker) => worker.workerId !== workerId && (worker.waitingUntil ?? 0) > now
  try {
    return (await workers.list()).filter(isOther).length
  } catch (error) {
    log.warn('the waiting workers were not counted', { error })
    return 0
  }
}
