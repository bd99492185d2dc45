import { startsAt } from '../core/place/place.ts'
import type { Claimer } from '../core/run/claim.ts'
import { workOf } from '../core/task/piece.ts'
import { type Task, workersWanted } from '../core/task/task.ts'
import type { TaskType } from '../core/types/task-type.ts'
import type { TaskDefinition } from '../define/define-task.ts'
import type { Delivery } from '../ports/messages.ts'
import type { Claimed, NotClaimed } from '../runtime/claim/claim.ts'
import {
  TICKET_PASS_DELAY_S,
  TICKET_PASSES_MAX,
  type TicketWaitList,
} from '../runtime/claim/claim-by-ticket.ts'
import {
  earlyDelaySeconds,
  notDueDelaySeconds,
  PASS_DELAY_S,
  PASSES_MAX,
} from '../runtime/dispatch/received-dispatch.ts'
import { sleepUntil } from '../runtime/kernel/moment.ts'
import { readTask } from '../runtime/kernel/read-heads.ts'
import type { System } from '../runtime/kernel/system.ts'
import { logFields } from '../runtime/kernel/traceparent.ts'
import type { SlotUse } from '../runtime/limits/start.ts'
import { isTicket } from '../runtime/ready/ready.ts'
import { type Ran, runClaimed, runTask } from '../runtime/run/run.ts'
import type { SafeHooks } from './hooks.ts'

/**
 * For this time after its task changed or fell due, a refused dispatch is passed on without a limit, so that it soon
 * reaches a worker that may take the task. Later, a dispatch is passed on at most `PASSES_MAX` times.
 */
const FRESH_MS = 60_000
/**
 * After a failure of the store or the queue, a dispatch occupies one unit of the worker's concurrency for this long. Without the
 * pause, an outage would drain the queues.
 */
const TROUBLE_PAUSE_MS = 1_000

export type Serving = {
  readonly system: System
  readonly claimer: Claimer
  readonly definition: TaskDefinition
  readonly hooks: SafeHooks
  readonly typeOf: (type: string) => Promise<TaskType | undefined>
  readonly claimByTicket: TicketWaitList
  readonly slotUse: SlotUse
  /** Aborts when the worker takes on nothing more. */
  readonly draining: AbortSignal
  /** Aborts when the worker ends now: its runs are released. */
  readonly stopping: AbortSignal
}

/**
 * Serves one dispatch: claims, runs and finishes its task. The message is deleted as soon as the claim is written. From
 * then on the lease and its looks guard the run, which may take hours. When the store does not answer, the message stays
 * and the queue delivers it again. Never throws.
 */
export function serveDispatch(delivery: Delivery, serving: Serving): Promise<void> {
  const { system } = serving
  const { task } = delivery
  return withHooks(serving, task, async onClaimed => {
    if (await sendBackIfEarly(delivery, serving)) return undefined
    const type = await serving.typeOf(workOf(task).type)
    if (type && isTicket(task, type)) await sleepUntil(system.clock, startsAt(task))
    if (type && isTicket(task, type)) return serveTicket(delivery, type, serving, onClaimed)
    let dropped: Promise<void> | undefined
    const report = await runTask(system, task, serving.claimer, {
      ...serving,
      onClaimed: claimed => {
        dropped = dropMessage(system, delivery)
        return onClaimed(claimed)
      },
    })
    await dropped
    if (report.ran) return report
    await passOnOrDrop(system, delivery, report.why)
    return undefined
  })
}

/** Serves a ticket: the worker claims the best waiting task, which may differ from the task that the ticket names. */
async function serveTicket(
  delivery: Delivery,
  type: TaskType,
  serving: Serving,
  onClaimed: (claimed: Claimed) => Promise<void>,
): Promise<Ran | undefined> {
  const { system, claimByTicket } = serving
  // Resuming the type sends the dispatches again that were dropped during its pause.
  const outcome = type.paused ? 'waits-for-limit' : await claimByTicket(type, delivery.task)
  if (typeof outcome === 'object') {
    const dropped = dropMessage(system, delivery)
    const ran = await runClaimed(system, outcome, { ...serving, onClaimed })
    await dropped
    return ran
  }
  const isPassable = outcome === 'no-task' && delivery.passedOn < TICKET_PASSES_MAX
  if (isPassable) await delivery.putBack(TICKET_PASS_DELAY_S, delivery.passedOn + 1)
  else await delivery.done()
  return undefined
}

/** Runs and finishes a task that this worker has claimed. Never throws. */
export function serveClaimed(claimed: Claimed, serving: Serving): Promise<void> {
  return withHooks(serving, claimed.task, onClaimed =>
    runClaimed(serving.system, claimed, { ...serving, onClaimed }),
  )
}

type Work = (onClaimed: (claimed: Claimed) => Promise<void>) => Promise<Ran | undefined>

/** Does the work and calls the hooks around it. After a failure of the store or the queue, logs it, reports it and pauses. */
async function withHooks({ system, hooks, draining }: Serving, task: Task, work: Work): Promise<void> {
  let claimed: Claimed | undefined
  try {
    const ran = await work(justClaimed => {
      claimed = justClaimed
      return hooks.beforeRun(justClaimed)
    })
    if (claimed && ran) await callEndHooks(claimed, ran, hooks)
  } catch (error) {
    const consequence = claimed ? 'its lease will end' : 'its queue delivers it again'
    system.log.error(`the store or the queue failed; ${consequence}`, { ...logFields(task), error })
    await hooks.onError({ error, ...(claimed ?? { task }) })
    await system.clock.sleep(TROUBLE_PAUSE_MS, draining)
  }
}

/**
 * Sends a dispatch back to its queue when it comes before its task may start, and returns whether it did. A worker that does
 * not drain waits in place for a dispatch that is less than 1.5 s early.
 */
async function sendBackIfEarly(delivery: Delivery, { system, draining }: Serving): Promise<boolean> {
  const delaySeconds = earlyDelaySeconds(delivery.task, system.clock.now())
  if (delaySeconds !== undefined) {
    await delivery.putBack(delaySeconds)
    return true
  }
  if (!draining.aborted) await sleepUntil(system.clock, delivery.task.dueAt)
  const restSeconds = draining.aborted ? 0 : notDueDelaySeconds(delivery.task, system.clock.now())
  if (restSeconds === undefined) return false
  await delivery.putBack(restSeconds)
  return true
}

async function callEndHooks(claimed: Claimed, { outcome, error }: Ran, hooks: SafeHooks): Promise<void> {
  if (outcome === 'fail' && error) await hooks.onError({ ...claimed, error })
  await hooks.afterRun({ ...claimed, outcome, ...(error && { error }) })
}

/** Deletes the message. A failure is only logged: a message that stays leads to a claim that is refused. */
async function dropMessage(system: System, delivery: Delivery): Promise<void> {
  try {
    await delivery.done()
  } catch (error) {
    system.log.warn('a served dispatch is still in its queue', { ...logFields(delivery.task), error })
  }
}

/** Refusals after which another worker may claim the task, or this worker may claim it later. */
const CLAIMABLE_BY_OTHERS: ReadonlySet<NotClaimed['refused']> = new Set([
  'holds-run',
  'already-succeeded',
  'not-allowed',
  'budget-spent',
  'being-claimed',
])

/**
 * Handles the dispatch of a refused claim. The dispatch is passed on while the task is unchanged and another worker, or this
 * one later, could claim it. Otherwise it is deleted. When the task has changed, the change caused a dispatch of its own.
 */
async function passOnOrDrop(
  system: System,
  delivery: Delivery,
  reason: NotClaimed['refused'],
): Promise<void> {
  const { task, passedOn } = delivery
  const isFresh = system.clock.now() - Math.max(task.updatedAt, task.dueAt) < FRESH_MS
  const isPassable = CLAIMABLE_BY_OTHERS.has(reason) && (isFresh || passedOn < PASSES_MAX)
  if (isPassable && isUnchanged(task, await readTask(system, task.id))) {
    await delivery.putBack(PASS_DELAY_S, passedOn + 1)
  } else {
    await delivery.done()
  }
}

function isUnchanged(seen: Task, head: Task | undefined): boolean {
  return head?.born === seen.born && head.revision === seen.revision && workersWanted(head) > 0
}
