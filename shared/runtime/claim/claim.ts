/**
 * A claim begins a run: it takes a task that is open, due and allowed by its types, and gives it a fence and a lease
 * by one conditional write. This file claims one given task. The others choose which: tickets and HTTP workers take
 * the best ready tasks, and a worker that a task lists finds it by its marker. Here too stands what a worker gets with
 * its claim, and how a claim request waits for work, or is repeated without claiming twice.
 */
import { BatonError, isItemFault } from '../../core/errors.ts'
import { type Claimer, type ClaimRefusal, claim, failRefusedClaim } from '../../core/run/claim.ts'
import { finish } from '../../core/run/finish.ts'
import { isSamePiece, openSince } from '../../core/task/piece.ts'
import { endedRuns, type LiveRun, liveRuns, type Task } from '../../core/task/task.ts'
import { isKnownFault, logFault, rememberFault } from '../kernel/isolate-faults.ts'
import { type Patience, transact } from '../kernel/kernel.ts'
import { momentOf, sleepUntil } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import { type Admission, admit, isPausedByNow, onlyRateLimit } from '../limits/admit.ts'
import { type LimitRules, limitRulesOf } from '../limits/limits.ts'
import { confirmPermits, releasePermits } from '../limits/permits.ts'
import { type StartPolicy, startInOwnSlot } from '../limits/start-policy.ts'

export type Claimed = {
  readonly task: Task
  readonly run: LiveRun
  /** Of the run's span; what the handler calls and publishes goes on from there. */
  readonly traceparent?: string
}

export type NotClaimed = {
  /**
   * Why the claim came to nothing; `gone`: the birth, or the piece of it, that was seen is over; `being-claimed`: somebody
   * else may begin a run of it, and has not yet; the last three: its types do not let it run now, and what waits for a limit
   * has been noted to do so.
   */
  readonly refused:
    | ClaimRefusal
    | 'gone'
    | 'being-claimed'
    /** What the claim would write, or what is stored of the task, is refused for itself. */
    | 'at-fault'
    | 'paused'
    | 'rate-limit'
    | 'concurrency-limit'
  /** The limit that did not, by name, where it is known which of several it was. */
  readonly limit?: string | undefined
  /** When that limit may allow a start, where the task has not been noted to wait for one. */
  readonly notBefore?: number
  /** Whether somebody else was faster. */
  readonly lostToOthers: boolean
}

/** Whether a claim would write anything: a refused one may, too, such as the last lost run or a passed deadline. */
export function claimWouldWrite(task: Task, claimer: Claimer, now: number): boolean {
  return claim(task, claimer, now).change !== undefined
}

/**
 * Claims the task that was seen, if its types let it run. Without limits that is one conditional write and no read of the
 * task: `seen` comes with the dispatch. When it has changed since, the claim is decided anew on what stands there, but
 * never on another birth or piece: the next step of a flow may be another type's.
 */
export async function claimTask(
  system: System,
  seen: Task,
  claimer: Claimer,
  starting: StartPolicy = startInOwnSlot(),
  patience?: Patience,
): Promise<Claimed | NotClaimed> {
  if (isKnownFault(system, seen)) return refused('at-fault')
  try {
    return await claimIfAllowed(system, seen, claimer, starting, patience)
  } catch (error) {
    if (!isItemFault(error)) throw error
    logFault(system, seen, error)
    await recordFault(system, seen, claimer, error, patience)
    return refused('at-fault')
  }
}

/** What cannot be put on record either is remembered by this process, and left alone for a while. */
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
  starting: StartPolicy,
  patience: Patience | undefined,
): Promise<Claimed | NotClaimed> {
  const terms = await limitRulesOf(system, seen)
  if (terms.isPaused) return refused('paused')
  if (terms.rates.length + terms.concurrencies.length === 0) {
    const admitted: Admitted = {
      ok: true,
      permits: [],
      heldSince: momentOf(system.clock),
      startsAt: undefined,
      isLimited: false,
      readAt: terms.readAt,
    }
    return claimAdmitted(system, seen, claimer, admitted, patience)
  }
  return claimLimited(system, seen, claimer, { terms, starting, patience })
}

function refused(
  reason: NotClaimed['refused'],
  why: Pick<NotClaimed, 'limit' | 'notBefore'> = {},
): NotClaimed {
  return { refused: reason, lostToOthers: reason === 'being-claimed', ...why }
}

/** How a claim asks the limits of its types, and how long. */
type Asking = {
  readonly terms: LimitRules
  readonly starting: StartPolicy
  readonly patience: Patience | undefined
}

/** A start or a permit spent on what cannot be claimed would be missing for others: as far as is known, it can be. */
async function claimLimited(
  system: System,
  seen: Task,
  claimer: Claimer,
  { terms, starting, patience }: Asking,
): Promise<Claimed | NotClaimed> {
  const isClaimable = claim(seen, claimer, system.clock.now()).ok
  if (!isClaimable) return claimAdmitted(system, seen, claimer, NONE, patience)
  const near = await starting.awaitSlot?.(system, seen, terms)
  if (near === 'far') return refused('rate-limit', { limit: onlyRateLimit(terms) })
  // Its types may have changed while it waited.
  const present = near ? await limitRulesOf(system, seen) : terms
  if (present.isPaused) return refused('paused')
  const admission = await admit(system, seen, present, { starting, near, patience })
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

/** What could not be claimed when it was read must not be claimed without being admitted; but its end is recorded. */
const NONE = 'none'

async function claimAdmitted(
  system: System,
  seen: Task,
  claimer: Claimer,
  admitted: Admitted | typeof NONE,
  patience?: Patience,
): Promise<Claimed | NotClaimed> {
  // What limits granted is for the task as it was seen: its turn may be spent by now.
  const isLimited = admitted !== NONE && admitted.isLimited
  const decide = (current: Task | undefined) => {
    if (!current || !isSamePiece(seen, current)) return GONE
    if (isLimited && current.revision !== seen.revision) return GONE
    const decided = claim(current, claimer, system.clock.now(), admitted === NONE ? {} : admitted)
    return decided.ok && admitted === NONE ? GONE : decided
  }
  const { decision, task, conflicts } = await transact(system, seen, decide, patience)
  if (conflicts > 0) system.metrics.add('ClaimConflict', conflicts, seen.type)
  if (!decision.ok) {
    system.log.debug('not claimed', { ...logFields(seen), reason: decision.reason })
    const wasChanged = conflicts > 0 && !hasHeld(task, claimer)
    return { refused: decision.reason, lostToOthers: wasChanged || decision.reason === 'no-slot' }
  }
  if (!task) throw new Error(`claimed ${seen.id} but holds no task`)
  const obstacle = admitted === NONE ? undefined : await obstacleAtStart(system, task, admitted)
  if (obstacle) {
    await release(system, task, decision.run, patience)
    return refused(obstacle)
  }
  system.metrics.add('Lateness', Math.max(0, decision.run.startedAt - openSince(task)), task.type)
  return { task, run: decision.run }
}

/** Waits for the start that was granted, and says why the run may not begin then after all. */
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

/** Nothing of the run has begun. */
async function release(
  system: System,
  task: Task,
  { fence }: LiveRun,
  patience: Patience | undefined,
): Promise<void> {
  const word = { born: task.born, fence, outcome: 'release' as const }
  const decide = (current: Task | undefined) =>
    finish(current, word, system.clock.now(), system.chance.fraction())
  await transact(system, task, decide, patience)
}

/** What a worker has just claimed or finished itself may still be shown to it as ready. */
function hasHeld(task: Task | undefined, { workerId }: Claimer): boolean {
  const runs = task ? [...liveRuns(task), ...endedRuns(task)] : []
  return runs.some(run => run.workerId === workerId)
}
