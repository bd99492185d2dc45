/**
 * A dispatch is a queue message that says: this task may be claimed. It carries the task's head as it was when the message
 * was sent, so a claim usually costs one write and no read. This room serves dispatches, in functions and in standalone
 * workers alike: `serveDispatch` waits until the task may start, claims it, runs it, and reports the run.
 *
 * The planner sends a dispatch when a change makes a task claimable, the waker when its time comes, and the sweeper when a
 * dispatch seems lost. A dispatch is a hint, and the conditional write of the claim decides. So a dispatch may arrive
 * twice or late. When its task has changed meanwhile, it is dropped: the change caused a dispatch of its own.
 *
 * A dispatch of a type that is run in order is a ticket. It says that one task of the type may be claimed, and its receiver
 * claims the best waiting one, which may be the task that the ticket names. Each task in a ready place has a ticket. So a
 * ticket whose named task is taken still stands for another task. One claim may serve several tickets.
 *
 * An `Obstacle` is what may go wrong: the dispatch comes too early, its claim is refused, a ticket finds no task, or the
 * store or the queue fails. `disposition.ts` has the one rule for what becomes of the dispatch then. It is dropped, left to
 * its queue, or put back: until its task is due, until an outage may be over, or to pass it on to another worker.
 *
 * A dispatch is passed on in three cases, and a refused dispatch is dropped in all others:
 *
 * - Its claim was refused because another worker is about to claim the task, in case that worker dies. The dispatch returns
 *   a second later, at most ten times. A standalone worker also passes on the dispatch of a task that it runs, has run, or may
 *   not run, without a bound in the first minute after the task changed or fell due. It drops the dispatch of a changed task.
 * - It is a ticket that found no task, since the index may show one soon: a second later, at most twice.
 * - It is a ticket whose task was released because a suspect (a task whose last run was lost) runs alone: at once, at most
 *   twice.
 *
 * After the claim the dispatch is not needed any more. The lease and its looks guard the run, which may take hours.
 *
 * |               | a function                                  | a standalone worker                               |
 * | ------------- | ------------------------------------------- | ------------------------------------------------- |
 * | receives      | batches of up to ten, from Lambda           | as many dispatches as it has capacity for         |
 * | deletes       | when the invocation has ended               | as soon as the claim is written                   |
 * | puts back     | a copy that counts its hops, at most twelve | a copy, without a bound                           |
 * | tickets       | share one claim per batch and type          | share one claim if they arrive during another one |
 * | suspects      | run alone, since a batch shares a process   | run with other tasks                              |
 *
 * Read next: `disposition.ts`. A function enters by `serve-dispatches.ts`. A
 * worker receives in `worker/queue-worker.ts`, and its tickets wait in `claim/claim-by-ticket.ts`.
 */

import { QUEUE_DELAY_MS_MAX } from '../../core/bounds.ts'
import type { Claimer } from '../../core/run/claim.ts'
import { workOf } from '../../core/task/piece.ts'
import { type Task, workersWanted } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { isOutage } from '../../core/values/values.ts'
import type { Delivery } from '../../ports/messages.ts'
import { claimTask } from '../claim/claim.ts'
import type { ClaimByTicket } from '../claim/claim-by-ticket.ts'
import type { Claimed } from '../claim/claimed-task.ts'
import { readTask } from '../kernel/heads.ts'
import { logFields } from '../kernel/log-run-ends.ts'
import { type System, sleepUntil } from '../kernel/system.ts'
import { noteFreed } from '../limits/permits.ts'
import type { SlotUse } from '../limits/start.ts'
import { isTicket } from '../place/ready.ts'
import { runInTable } from '../run/keep-in-table.ts'
import type { RunTools } from '../run/run.ts'
import type { TypeReader } from '../types/type-cache.ts'
import { type Disposition, dispositionOf, type Obstacle, type Receiver } from './disposition.ts'

/** What a receiver needs to serve its dispatches. `aborting` ends the receiver now: its runs are released. */
export type Serving = RunTools<Claimed> & {
  readonly system: System
  readonly receiver: Receiver
  readonly claimer: Claimer
  readonly typeOf: TypeReader
  readonly claimByTicket: ClaimByTicket
  /** How a claim uses slots under rate limits. @default `wait-for-slot` */
  readonly slotUse?: SlotUse
  /** Aborts when the receiver must claim no more tasks. */
  readonly draining?: AbortSignal | undefined
}

/** `left`: the message must stay in its queue, which delivers it again. */
export type Served = 'served' | 'left'

/** Serves one dispatch to the end of its run. Never throws. */
export async function serveDispatch(serving: Serving, delivery: Delivery): Promise<Served> {
  if (delivery.freed) noteFreed(serving.system, delivery.freed)
  let claim: Claim | undefined
  try {
    const early = await waitUntilDue(serving, delivery.task)
    if (early) return await disposeOf(serving, delivery, early)
    const answer = await claimFor(serving, delivery)
    if (answer.kind !== 'claimed') return await disposeOf(serving, delivery, answer)
    claim = answer
    await Promise.all([deleteMessage(serving, delivery), run(serving, claim)])
    return 'served'
  } catch (error) {
    await reportFailure(serving, delivery.task, error, claim?.claimed)
    const isClaimedByTicket = claim?.isByTicket ?? false
    const failed: Obstacle = { kind: 'failed', isOutage: isOutage(error), isClaimedByTicket }
    return disposeOf(serving, delivery, failed).catch(() => 'left')
  }
}

/** Runs a task that was claimed without a dispatch. Never throws. */
export async function serveClaimed(serving: Serving, claimed: Claimed): Promise<void> {
  try {
    await run(serving, { claimed })
  } catch (error) {
    await reportFailure(serving, claimed.task, error, claimed)
  }
}

/** A receiver waits in place for a dispatch that arrives early by less than this. An earlier one goes back with a delay. */
const EARLY_WAIT_MS_MAX = 1_500

/** The delay in seconds with which an early dispatch goes back to its queue. Undefined when its receiver can wait in place. */
export function earlyDelaySeconds(task: Task, now: number): number | undefined {
  const early = task.dueAt - now
  return early > EARLY_WAIT_MS_MAX ? Math.floor(Math.min(early, QUEUE_DELAY_MS_MAX) / 1_000) : undefined
}

/**
 * Waits in place until the task is due. Returns an obstacle when the wait would be long, and when a clock that was set back
 * meanwhile shows that the task is not due: its claim would be refused. A draining worker sends everything back at once.
 */
async function waitUntilDue(
  { system: { clock }, draining }: Serving,
  task: Task,
): Promise<Obstacle | undefined> {
  const early = earlyDelaySeconds(task, clock.now())
  if (early !== undefined) return { kind: 'early', delaySeconds: early }
  if (!draining?.aborted) await sleepUntil(clock, task.dueAt)
  if (draining?.aborted) return { kind: 'early', delaySeconds: 0 }
  const left = Math.min(task.dueAt - clock.now(), QUEUE_DELAY_MS_MAX)
  return left > 0 ? { kind: 'early', delaySeconds: Math.ceil(left / 1_000) } : undefined
}

type Claim = {
  readonly kind: 'claimed'
  readonly claimed: Claimed
  readonly isByTicket: boolean
  readonly type: TaskType | undefined
}

/** Claims the best waiting task for a ticket, and for any other dispatch the task that it names. */
async function claimFor(serving: Serving, delivery: Delivery): Promise<Claim | Obstacle> {
  const { system, claimer, slotUse, typeOf, claimByTicket } = serving
  const { task } = delivery
  const type = await typeOf(workOf(task).type)
  if (!type || !isTicket(task, type)) {
    const claimed = await claimTask(system, task, claimer, { slotUse })
    if ('refused' in claimed) return { kind: 'refused', why: claimed.refused }
    return { kind: 'claimed', claimed, isByTicket: false, type }
  }
  await sleepUntil(system.clock, task.dueAt)
  // Resuming the type sends the dispatches again that were dropped during its pause.
  const claimed = type.paused ? 'paused' : await claimByTicket(type, delivery)
  if (typeof claimed === 'string') return { kind: 'ticket-refused', why: claimed }
  return { kind: 'claimed', claimed, isByTicket: true, type }
}

/** Deletes the message of a claimed task. A failure is only logged: a message that stays leads to a refused claim. */
async function deleteMessage({ system }: Serving, delivery: Delivery): Promise<void> {
  try {
    await delivery.done()
  } catch (error) {
    system.log.warn('a served dispatch is still in its queue', { ...logFields(delivery.task), error })
  }
}

/** Runs the claimed task to its end. A task of kind `webhook` gets its type's webhook configuration. */
async function run(
  serving: Serving,
  { claimed, type }: Pick<Claim, 'claimed'> & Partial<Claim>,
): Promise<void> {
  const webhook = workOf(claimed.task).kind === 'webhook' ? type?.configuration.webhook : undefined
  await runInTable(serving.system, claimed, serving, webhook)
}

/** Drops, leaves or puts back the dispatch, as its obstacle demands. */
async function disposeOf(serving: Serving, delivery: Delivery, obstacle: Obstacle): Promise<Served> {
  const { system, receiver } = serving
  const disposition = dispositionOf(obstacle, delivery, receiver, system.clock.now())
  if ('isChainOver' in disposition) reportEndOfChain(system, delivery)
  if (disposition.to === 'leave') return 'left'
  if (disposition.to === 'drop' || (await isMoot(system, delivery, disposition))) await delivery.done()
  else await delivery.putBack(disposition.delaySeconds, disposition.passedOn)
  return 'served'
}

/** Whether the dispatch must not be put back, because its task has changed or needs no further worker. */
async function isMoot(
  system: System,
  { task: seen }: Delivery,
  { ifUnchanged }: Extract<Disposition, { to: 'put-back' }>,
): Promise<boolean> {
  if (!ifUnchanged) return false
  const head = await readTask(system, seen.id)
  const isUnchanged = head?.born === seen.born && head.revision === seen.revision
  return !isUnchanged || workersWanted(head) <= 0
}

/** Counts and logs the dispatches of a chain of messages that has reached its bound of hops. */
export function reportEndOfChain({ metrics, log }: System, { task, hops }: Delivery, dispatches = 1): void {
  metrics.add('LookLoop', dispatches, task.type)
  const message =
    'dispatches were sent on too often; refused tickets are dropped, and other dispatches stay in their queue'
  log.warn(message, { taskId: task.id, dispatches, hops })
}

async function reportFailure(
  { system, receiver, hooks, draining }: Serving,
  task: Task,
  error: unknown,
  claimed: Claimed | undefined,
): Promise<void> {
  const message = claimed
    ? 'the end of a run was not written; the run ends with its lease'
    : 'a dispatch was not served; its queue delivers it again'
  system.log.error(message, { ...logFields(task), error })
  await hooks?.onError({ error, ...(claimed ?? { task }) })
  if (receiver.failurePauseMs) await system.clock.sleep(receiver.failurePauseMs, draining)
}
