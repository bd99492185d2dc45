/**
 * A claim begins a run. It takes a task that is open, due and allowed by its types, and gives it a fence and a lease by
 * one conditional write. This file claims one given task.
 *
 * Read in this order:
 * - `claim-ready.ts`: claims the best ready tasks; `held-back.ts` remembers which of them limits hold back
 * - `claim-by-ticket.ts`: claims for tickets
 * - `claim-targets.ts`: claims tasks that list their workers, which a worker finds by markers
 * - `http-claims.ts`: claims over HTTP, with `wait-for-work.ts` (how a claim waits) and `claim-once-per-request.ts`
 *   (a repeated request does not claim twice)
 * - `claimed-task.ts`, `content-of.ts`: what a worker is given with its claim
 * - `release-run.ts`: gives a claimed task back before its handler began
 */

import { BatonError, isItemFault } from '../../core/errors.ts'
import { type Claimer, type ClaimRefusal, claim, failRefusedClaim } from '../../core/run/claim.ts'
import { isSamePiece, openSince } from '../../core/task/piece.ts'
import type { LiveRun } from '../../core/task/runs.ts'
import { endedRuns, liveRuns, type Task } from '../../core/task/task.ts'
import { isKnownFault, logFault, rememberFault } from '../kernel/isolate-faults.ts'
import { type Patience, transact } from '../kernel/kernel.ts'
import { momentOf, sleepUntil } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import { type Admission, admit, isPausedByNow, onlyRateLimit } from '../limits/admit.ts'
import { type LimitRules, limitRulesOf } from '../limits/limits.ts'
import { confirmPermits, releasePermits } from '../limits/permits.ts'
import { type StartPolicy, startInOwnSlot } from '../limits/start-policy.ts'
import { releaseRun } from './release-run.ts'

export type Claimed = {
  readonly task: Task
  readonly run: LiveRun
  /** The traceparent of the run's span, which the handler's calls and publishes continue. */
  readonly traceparent?: string
}

export type NotClaimed = {
  /**
   * Why the task was not claimed.
   *
   * - `gone`               the birth, stage or step that the caller saw is over
   * - `being-claimed`      another worker has been admitted and is about to claim the task
   * - `at-fault`           the store refuses the claim's content, or the stored task cannot be read
   * - `paused`             a type of the task is paused
   * - `rate-limit`         a rate limit allows no start now
   * - `concurrency-limit`  a concurrency limit has no free permit, and the task's head records that it waits for one. Or the
   *                        claim took so long that it lost its permits; then its run was released
   */
  readonly refused:
    | ClaimRefusal
    | 'gone'
    | 'being-claimed'
    | 'at-fault'
    | 'paused'
    | 'rate-limit'
    | 'concurrency-limit'
  /** The name of the limit that refused the start. Undefined when it may be one of several. */
  readonly limit?: string | undefined
  /** When a slot of that limit may be free. Set only when the task was not written down to wait for a slot. */
  readonly notBefore?: number
  /** Whether another worker was faster. */
  readonly lostToOthers: boolean
}

/**
 * Whether a claim would write the task. A refused claim may write, too: it records the last lost run or a passed
 * deadline.
 */
export function claimWouldWrite(task: Task, claimer: Claimer, now: number): boolean {
  return claim(task, claimer, now).change !== undefined
}

/**
 * Claims the task that the caller saw, if its types allow a run. Without limits this costs one conditional write and no
 * read of the task, since `seen` comes with the dispatch.
 *
 * When the task has changed since, the claim is decided again on the stored head. It is refused when the head shows
 * another birth, stage or step, because the next step of a flow may belong to another type.
 */
export async function claimTask(
  system: System,
  seen: Task,
  claimer: Claimer,
  startPolicy: StartPolicy = startInOwnSlot(),
  patience?: Patience,
): Promise<Claimed | NotClaimed> {
  if (isKnownFault(system, seen)) return refused('at-fault')
  try {
    return await claimIfAllowed(system, seen, claimer, startPolicy, patience)
  } catch (error) {
    if (!isItemFault(error)) throw error
    logFault(system, seen, error)
    await recordFault(system, seen, claimer, error, patience)
    return refused('at-fault')
  }
}

/**
 * Records a refused write as a failure of the task. If that cannot be stored either, this process remembers the fault and
 * does not try the task for a while.
 */
async function recordFault(
  system: System,
  seen: Task,
  claimer: Claimer,
  fault: unknown,
  patience: Patience | undefined,
): Promise<void> {
  const isRefusedWrite = fault instanceof BatonError && fault.code === 'unstorable'
  try {
    if (!isRefusedWrite) return rememberFault(system, seen)
    const message = `the claim could not be stored: ${fault.message}`
    const decide = (current: Task | undefined) =>
      current && isSamePiece(seen, current)
        ? failRefusedClaim(current, claimer, message, system.clock.now(), system.chance.fraction())
        : GONE
    await transact(system, seen, decide, patience)
  } catch (error) {
    if (!isItemFault(error)) throw error
    rememberFault(system, seen)
  }
}

async function claimIfAllowed(
  system: System,
  seen: Task,
  claimer: Claimer,
  startPolicy: StartPolicy,
  patience: Patience | undefined,
): Promise<Claimed | NotClaimed> {
  const rules = await limitRulesOf(system, seen)
  if (rules.isPaused) return refused('paused')
  if (rules.rates.length + rules.concurrencies.length === 0) {
    const admitted: Admitted = {
      ok: true,
      permits: [],
      heldSince: momentOf(system.clock),
      startsAt: undefined,
      isLimited: false,
      readAt: rules.readAt,
    }
    return claimAdmitted(system, seen, claimer, admitted, patience)
  }
  return claimLimited(system, seen, claimer, { rules, startPolicy, patience })
}

function refused(
  reason: NotClaimed['refused'],
  why: Pick<NotClaimed, 'limit' | 'notBefore'> = {},
): NotClaimed {
  return { refused: reason, lostToOthers: reason === 'being-claimed', ...why }
}

/** How a claim asks the limits of the task's types, and how long. */
type LimitedClaim = {
  readonly rules: LimitRules
  readonly startPolicy: StartPolicy
  readonly patience: Patience | undefined
}

/**
 * Claims a task that limits count. First checks that the task, as seen, can be claimed. Otherwise it would use up a slot or
 * a permit that other tasks need.
 */
async function claimLimited(
  system: System,
  seen: Task,
  claimer: Claimer,
  { rules, startPolicy, patience }: LimitedClaim,
): Promise<Claimed | NotClaimed> {
  const isClaimable = claim(seen, claimer, system.clock.now()).ok
  if (!isClaimable) return claimAdmitted(system, seen, claimer, NOT_ADMITTED, patience)
  const reserved = await startPolicy.awaitSlot?.(system, seen, rules)
  if (reserved === 'later') return refused('rate-limit', { limit: onlyRateLimit(rules) })
  // The types may have changed while the claim waited for its slot.
  const present = reserved ? await limitRulesOf(system, seen) : rules
  if (present.isPaused) return refused('paused')
  const admission = await admit(system, seen, present, { startPolicy, reserved, patience })
  if (!admission.ok) {
    const { ok: _ok, reason, ...why } = admission
    return refused(reason, why)
  }
  const claimed = await claimAdmitted(system, seen, claimer, admission, patience).catch(async error => {
    await releasePermits(system, admission.permits)
    throw error
  })
  if ('refused' in claimed) await releasePermits(system, admission.permits)
  return claimed
}

type Admitted = Extract<Admission, { ok: true }>

/**
 * Passed instead of an admission when the task, as seen, could not be claimed. No limit was asked then, so the task must
 * not be claimed even if it has become claimable. But what ends the task is recorded, such as its last lost run.
 */
const NOT_ADMITTED = 'not-admitted'

async function claimAdmitted(
  system: System,
  seen: Task,
  claimer: Claimer,
  admitted: Admitted | typeof NOT_ADMITTED,
  patience?: Patience,
): Promise<Claimed | NotClaimed> {
  // The limits admitted the task as it was seen. If it has changed since, its slot may have been used.
  const isLimited = admitted !== NOT_ADMITTED && admitted.isLimited
  const decide = (current: Task | undefined) => {
    if (!current || !isSamePiece(seen, current)) return GONE
    if (isLimited && current.revision !== seen.revision) return GONE
    const decided = claim(current, claimer, system.clock.now(), admitted === NOT_ADMITTED ? {} : admitted)
    return decided.ok && admitted === NOT_ADMITTED ? GONE : decided
  }
  const { decision, task, conflicts } = await transact(system, seen, decide, patience)
  if (conflicts > 0) system.metrics.add('ClaimConflict', conflicts, seen.type)
  if (!decision.ok) {
    system.log.debug('not claimed', { ...logFields(seen), reason: decision.reason })
    const wasChanged = conflicts > 0 && !hasRun(task, claimer)
    return { refused: decision.reason, lostToOthers: wasChanged || decision.reason === 'no-slot' }
  }
  if (!task) throw new Error(`claimed ${seen.id} but holds no task`)
  const obstacle = admitted === NOT_ADMITTED ? undefined : await obstacleAtStart(system, task, admitted)
  if (obstacle) {
    await releaseRun(system, { task, run: decision.run }, patience)
    return refused(obstacle)
  }
  system.metrics.add('Lateness', Math.max(0, decision.run.startedAt - openSince(task)), task.type)
  return { task, run: decision.run }
}

/** Waits for the granted start. Returns why the run must not begin after all, or undefined when it may. */
async function obstacleAtStart(
  system: System,
  task: Task,
  admitted: Admitted,
): Promise<'paused' | 'concurrency-limit' | undefined> {
  const { startsAt, permits, heldSince } = admitted
  if (startsAt !== undefined) await sleepUntil(system.clock, startsAt)
  if (await isPausedByNow(system, task, admitted)) return 'paused'
  return (await confirmPermits(system, permits, heldSince)) ? undefined : 'concurrency-limit'
}

const GONE = { ok: false, reason: 'gone' } as const

/**
 * Whether the worker itself has run the task. An index may still show a worker the task that it has just claimed or
 * finished.
 */
function hasRun(task: Task | undefined, { workerId }: Claimer): boolean {
  const runs = task ? [...liveRuns(task), ...endedRuns(task)] : []
  return runs.some(run => run.workerId === workerId)
}
