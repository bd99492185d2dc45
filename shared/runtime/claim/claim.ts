/**
 * Claims. A claim begins a run: one conditional write takes a task that is open, due and allowed by its types, and gives it a fence
 * and a lease. Of several workers that write at once, one succeeds; the others read the new head and decide again, or give up.
 *
 * How a worker comes to its tasks
 *
 * - By default, each task has a dispatch. Its receiver claims that task (`claimTask` below).
 * - A type that is run in order, by priority or by tenant, has tickets. A ticket says that one task of the type may be claimed, and
 *   its receiver claims the best one, which may not be the one that the ticket names.
 * - An HTTP worker asks for some tasks of its types, and gets the first ones.
 * - A task that lists `workerIds` has markers, by which each of these workers finds it.
 *
 * How a claim is decided
 *
 * 1. If a type of the task is paused, or does not allow the step that the head names, the claim is refused.
 * 2. `judgeClaim` judges the head as the worker knows it. The task must be open and due, must want a further worker, and must allow
 *    this one. A passed deadline, or lost runs that spend the retry budget, refuse the claim, and a write records that.
 * 3. Each limit grants a slot or a permit, perhaps after a wait in place. A task that a limit refuses waits in the line of that limit
 *    (`limits/limits.ts`).
 * 4. The claim is written, guarded by the revision that was judged. If the task has changed, the stored head is judged again. A
 *    changed task uses what the limits have granted, if the same limits count it. What a refused claim does not use is given back.
 * 5. The claim waits for its granted start. If a type is paused by then, or the permits are lost, it releases the run before the
 *    handler begins.
 *
 * The judgement by which a task was chosen goes with it to the write. It is made again only after a lost race, or when it may not
 * hold any more.
 *
 * Claims in order
 *
 * Tickets and HTTP workers claim from the ready place of a type: a partition of an index, sorted in claim order. Four facts shape
 * how they do it:
 *
 * - The index lags. It still shows tasks that were claimed, and may show a new one late. So each candidate's head is read, and the
 *   write itself decides. A ticket that finds no task is passed on, since the index may show one soon.
 * - All claimers want the same first tasks. A call of `claimReady` therefore begins with a few. While it loses none, its attempts
 *   double. When it loses more than 30 % to other processes, it chooses at random from a window of the first tasks, which grows up
 *   to 500. So the order is exact while one process claims, and within 500 tasks when many do.
 * - Some tasks at the front cannot be claimed now: a limit is used up, a type is paused, or they are meant for other workers. The
 *   call passes them over. It remembers each refusal, so many tasks behind one used-up limit cost the questions of
 *   one attempt. Tasks behind a used-up limit with a key are written into its line, which takes them out of the ready place. A call
 *   examines at most 1,000 candidates, and a candidate that is held back counts a quarter. Where that many cannot be claimed, the
 *   next call looks at the first 250 and continues behind them (`candidates.ts`).
 * - Passed-over tasks of tenants stay at the front of their line. The call then notes up to which turn it claimed, so that new
 *   tenants do not enter in front of the tasks that were served since (`place/fair.ts`).
 *
 * A task that a limit refuses uses up a ticket, too: looks at the limit send new tickets. An HTTP worker needs no tickets, because it asks
 * again.
 *
 * Three things can go wrong. Another worker writes first: the call tries the next candidate. The store refuses the task's content:
 * the refusal costs the task a retry. The store fails: the call delivers the tasks that it has claimed.
 *
 * Read in this order:
 * - `claimTask` below claims one given task; `limits/limits.ts` says whether limits admit it
 * - `claim-ready.ts`: claims the best ready tasks, attempt by attempt. `candidates.ts` reads them and says how many an attempt tries,
 *   `claim-progress.ts` keeps what the call has learnt
 * - `claim-by-ticket.ts`: claims for tickets
 * - `claim-targets.ts`: claims tasks that list their workers, which a worker finds by markers
 * - `http-claims.ts`: claims over HTTP, and once however often a request is repeated; with `wait-for-work.ts` (how a claim waits)
 * - `claimed-task.ts`: what a worker is given with its claim, and how its run ends
 */

import type { ClaimDecision, Claimer, ClaimJudgement, ClaimRefusal } from '../../core/run/claim.ts'
import { claim, failRefusedClaim, judgeClaim, stillHolds } from '../../core/run/claim.ts'
import { isSamePiece, openSince } from '../../core/task/piece.ts'
import { endedRuns, liveRuns, type Task } from '../../core/task/task.ts'
import { BatonError, isItemFault } from '../../core/values/values.ts'
import { isKnownFault, logFault, rememberFault } from '../kernel/heads.ts'
import { type Patience, transact } from '../kernel/kernel.ts'
import { logFields } from '../kernel/log-run-ends.ts'
import type { System } from '../kernel/system.ts'
import { type Admitted, admit, giveBack, waitForStart } from '../limits/limits.ts'
import { isLimited, limitRulesOf } from '../limits/line.ts'
import { releasePermits } from '../limits/permits.ts'
import type { SlotUse } from '../limits/start.ts'
import { type Claimed, releaseRun } from './claimed-task.ts'

export type NotClaimed = {
  /**
   * Why the task was not claimed.
   *
   * - `gone`               the birth, stage or step that the caller saw is over
   * - `being-claimed`      another worker has been admitted and is about to claim the task
   * - `at-fault`           the store refuses the claim's content, or the stored task cannot be read
   * - `paused`             a type of the task is paused
   * - `type-not-allowed`   the type of the task may not have steps of the present step's type, or is not a webhook
   * - `rate-limit`         a rate limit allows no start now
   * - `concurrency-limit`  a concurrency limit has no free permit. Or the claim took so long that it lost its permits; then its run
   *                        was released
   */
  readonly refused:
    | ClaimRefusal
    | 'gone'
    | 'being-claimed'
    | 'at-fault'
    | 'paused'
    | 'type-not-allowed'
    | 'rate-limit'
    | 'concurrency-limit'
  /** The name of the limit that refused the start. */
  readonly limit?: string | undefined
  /** When a slot of that limit may be free. */
  readonly notBefore?: number
  /** Whether another process changed the task first, or another worker is about to claim it. */
  readonly lostToOthers: boolean
  /** Whether the claim was written, and its run was released before its handler began. */
  readonly wasWritten?: true
}

export type ClaimOptions = {
  /** How the claim uses slots under rate limits. @default `wait-for-slot` */
  readonly slotUse?: SlotUse | undefined
  readonly patience?: Patience
  /** The judgement by which the caller chose the task. The claim uses it while it holds. */
  readonly judged?: ClaimJudgement
}

/** One claim of the task that the caller saw. */
type Attempt = {
  readonly seen: Task
  readonly claimer: Claimer
  readonly slotUse: SlotUse
  readonly patience: Patience | undefined
}

/**
 * Claims the task that the caller saw, if its types allow a run. Without limits this costs one conditional write and no read of the task,
 * since `seen` comes with the dispatch.
 *
 * A claim is refused when the stored head shows another birth, stage or step, because the next step of a flow may belong to another type.
 */
export async function claimTask(
  system: System,
  seen: Task,
  claimer: Claimer,
  { slotUse = { kind: 'wait-for-slot' }, patience, judged }: ClaimOptions = {},
): Promise<Claimed | NotClaimed> {
  if (isKnownFault(system, seen)) return refused('at-fault')
  const attempt = { seen, claimer, slotUse, patience }
  try {
    return await claimIfAllowed(system, attempt, judged)
  } catch (error) {
    if (!isItemFault(error)) throw error
    logFault(system, seen, error)
    await recordFault(system, attempt, error)
    return refused('at-fault')
  }
}

/**
 * Records a refused write as a failure of the task. If that cannot be stored either, this process remembers the fault and
 * does not try the task for a while.
 */
async function recordFault(
  system: System,
  { seen, claimer, patience }: Attempt,
  fault: unknown,
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

/**
 * Asks the types and the limits of the task, and claims it. A task that limits count must be claimable as it was seen.
 * Otherwise it would use up a slot or a permit that other tasks need.
 */
async function claimIfAllowed(
  system: System,
  attempt: Attempt,
  known: ClaimJudgement | undefined,
): Promise<Claimed | NotClaimed> {
  const { seen, claimer } = attempt
  const rules = await limitRulesOf(system, seen)
  if (!rules.isAllowed) return refused('type-not-allowed')
  if (rules.isPaused) return refused('paused')
  const now = system.clock.now()
  const judged = known && stillHolds(known, seen, claimer, now) ? known : judgeClaim(seen, claimer, now)
  if (isLimited(rules) && !judged.ok) return writeRefusal(system, attempt, judged)
  const admission = await admit(system, seen, rules, attempt)
  if (!admission.ok) {
    const { ok: _ok, reason, ...why } = admission
    return refused(reason, why)
  }
  const claimed = await writeClaim(system, attempt, judged, admission).catch(async error => {
    await releasePermits(system, admission.permits)
    throw error
  })
  if ('refused' in claimed)
    await giveBack(system, claimed.wasWritten ? { ...admission, slots: [] } : admission)
  return claimed
}

function refused(
  reason: NotClaimed['refused'],
  why: Pick<NotClaimed, 'limit' | 'notBefore'> = {},
): NotClaimed {
  return { refused: reason, lostToOthers: reason === 'being-claimed', ...why }
}

/** Writes the claim of a task that its limits admit, and waits for its granted start. */
async function writeClaim(
  system: System,
  attempt: Attempt,
  judged: ClaimJudgement,
  admitted: Admitted,
): Promise<Claimed | NotClaimed> {
  const { seen, claimer, patience } = attempt
  const isCounted = admitted.isLimited
  const claimed = await writeDecision(system, attempt, current => {
    if (isCounted && !isCountedAlike(seen, current)) return GONE
    return claim(current, claimer, system.clock.now(), admitted, judged)
  })
  if ('refused' in claimed) return claimed
  const lateRefusal = await waitForStart(system, claimed.task, admitted)
  if (lateRefusal) {
    await releaseRun(system, claimed, patience)
    return { ...refused(lateRefusal), wasWritten: true }
  }
  const { task, run } = claimed
  system.metrics.add('Lateness', Math.max(0, run.startedAt - openSince(task)), task.type)
  return claimed
}

/**
 * Writes what a refused claim has found, such as the lost run that ends the task. No limit was asked, so the task is not claimed even
 * if it has become claimable meanwhile.
 */
function writeRefusal(
  system: System,
  attempt: Attempt,
  judged: ClaimJudgement,
): Promise<Claimed | NotClaimed> {
  return writeDecision(system, attempt, current => {
    const decision = claim(current, attempt.claimer, system.clock.now(), {}, judged)
    return decision.ok ? GONE : decision
  })
}

/** Writes what is decided about the piece that the caller saw. */
async function writeDecision(
  system: System,
  { seen, claimer, patience }: Attempt,
  decide: (current: Task) => ClaimDecision | typeof GONE,
): Promise<Claimed | NotClaimed> {
  const decideOnPiece = (current: Task | undefined) =>
    current && isSamePiece(seen, current) ? decide(current) : GONE
  const { decision, head: task, refusals } = await transact(system, seen, decideOnPiece, patience)
  if (refusals > 0) system.metrics.add('ClaimConflict', refusals, seen.type)
  if (!decision.ok) {
    system.log.debug('not claimed', { ...logFields(seen), reason: decision.reason })
    const wasChanged = refusals > 0 && !hasRun(task, claimer)
    return { refused: decision.reason, lostToOthers: wasChanged || decision.reason === 'no-worker-wanted' }
  }
  if (!task) throw new Error(`the claim of ${seen.id} was written, but returned no task`)
  return { task, run: decision.run }
}

/** Whether the same limits count both heads of the task, so that what was granted to the one may be used by the other. */
function isCountedAlike(one: Task, other: Task): boolean {
  const counted = ({ userId, fairnessKey, input, limitValues }: Task) =>
    JSON.stringify([userId, fairnessKey, input, limitValues])
  return one.revision === other.revision || counted(one) === counted(other)
}

const GONE = { ok: false, reason: 'gone' } as const

/** Whether the worker itself has run the task. An index may still show a worker the task that it has just claimed or finished. */
function hasRun(task: Task | undefined, { workerId }: Claimer): boolean {
  const runs = task ? [...liveRuns(task), ...endedRuns(task)] : []
  return runs.some(run => run.workerId === workerId)
}
