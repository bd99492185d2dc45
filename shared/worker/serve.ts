import { startsAt } from '../core/place/place.ts'
import type { Claimer } from '../core/run/claim.ts'
import { workOf } from '../core/task/piece.ts'
import { openSlots, type Task } from '../core/task/task.ts'
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
import type { System } from '../runtime/kernel/system.ts'
import { logFields } from '../runtime/kernel/traceparent.ts'
import type { StartPolicy } from '../runtime/limits/start-policy.ts'
import { isTicket } from '../runtime/ready/ready.ts'
import { type Ran, runClaimed, runTask } from '../runtime/run/run.ts'
import type { SafeHooks } from './hooks.ts'

/**
 * A dispatch that is passed on is so for a minute after its task has changed or fallen due, so that a worker that comes then
 * finds it at once; when the sweeper sends it later, `MAX_PASSES` times.
 */
const FRESH_MS = 60_000
/** The slot rests so long, so that an outage does not drain the queues. */
const TROUBLE_PAUSE_MS = 1_000

export type Serving = {
  readonly system: System
  readonly claimer: Claimer
  readonly definition: TaskDefinition
  readonly hooks: SafeHooks
  readonly typeOf: (type: string) => Promise<TaskType | undefined>
  readonly claimByTicket: TicketWaitList
  readonly starting: StartPolicy
  /** The worker takes on nothing more. */
  readonly draining: AbortSignal
  /** The worker ends now: runs are released. */
  readonly stopping: AbortSignal
}

/**
 * Serves one dispatch: claims, runs, finishes. The message goes as soon as the claim has answered: from then on the
 * lease and its looks guard the run, which may take hours. When the store does not answer, the message stays and comes
 * again. Never throws.
 */
export function serveDispatch(delivery: Delivery, serving: Serving): Promise<void> {
  const { system } = serving
  const { task } = delivery
  return guarded(serving, task, async onClaimed => {
    if (await isBeforeItsTime(delivery, serving)) return undefined
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
    await settleRefused(system, delivery, report.why)
    return undefined
  })
}

/** A token: the best task that waits is claimed, whichever it is. */
async function serveTicket(
  delivery: Delivery,
  type: TaskType,
  serving: Serving,
  onClaimed: (claimed: Claimed) => Promise<void>,
): Promise<Ran | undefined> {
  const { system, claimByTicket: takeToken } = serving
  // What is dropped in a pause is sent again at its end.
  const outcome = type.paused ? 'held' : await takeToken(type, delivery.task)
  if (typeof outcome === 'object') {
    const dropped = dropMessage(system, delivery)
    const ran = await runClaimed(system, outcome, { ...serving, onClaimed })
    await dropped
    return ran
  }
  const isPassable = outcome === 'nothing' && delivery.passedOn < TICKET_PASSES_MAX
  if (isPassable) await delivery.putBack(TICKET_PASS_DELAY_S, delivery.passedOn + 1)
  else await delivery.done()
  return undefined
}

/** Runs and finishes a task that this worker has claimed. Never throws. */
export function serveClaimed(claimed: Claimed, serving: Serving): Promise<void> {
  return guarded(serving, claimed.task, onClaimed =>
    runClaimed(serving.system, claimed, { ...serving, onClaimed }),
  )
}

type Work = (onClaimed: (claimed: Claimed) => Promise<void>) => Promise<Ran | undefined>

/** Does the work between its hooks; trouble is told and slept over. */
async function guarded({ system, hooks, draining: over }: Serving, task: Task, work: Work): Promise<void> {
  let claimed: Claimed | undefined
  try {
    const ran = await work(taken => {
      claimed = taken
      return hooks.beforeRun(taken)
    })
    if (claimed && ran) await logEnd(claimed, ran, hooks)
  } catch (error) {
    const consequence = claimed ? 'left to its lease' : 'left to its queue'
    system.log.error(`${consequence}: the store or the queue failed`, { ...logFields(task), error })
    await hooks.onError({ error, ...(claimed ?? { task }) })
    await system.clock.sleep(TROUBLE_PAUSE_MS, over)
  }
}

/** Waits out less than a second and a half; anything earlier, or a worker that stops, sends the dispatch back. */
async function isBeforeItsTime(delivery: Delivery, { system, draining: over }: Serving): Promise<boolean> {
  const delaySeconds = earlyDelaySeconds(delivery.task, system.clock.now())
  if (delaySeconds !== undefined) {
    await delivery.putBack(delaySeconds)
    return true
  }
  if (!over.aborted) await sleepUntil(system.clock, delivery.task.dueAt)
  const restSeconds = over.aborted ? 0 : notDueDelaySeconds(delivery.task, system.clock.now())
  if (restSeconds === undefined) return false
  await delivery.putBack(restSeconds)
  return true
}

async function logEnd(claimed: Claimed, { outcome, error }: Ran, hooks: SafeHooks): Promise<void> {
  if (outcome === 'fail' && error) await hooks.onError({ ...claimed, error })
  await hooks.afterRun({ ...claimed, outcome, ...(error && { error }) })
}

/** A message that stays by mistake only brings a claim that is refused. */
async function dropMessage(system: System, delivery: Delivery): Promise<void> {
  try {
    await delivery.done()
  } catch (error) {
    system.log.warn('a served dispatch is still in its queue', { ...logFields(delivery.task), error })
  }
}

/** Refusals that say nothing about other workers, or about a while later. */
const OTHERS_MAY: ReadonlySet<NotClaimed['refused']> = new Set([
  'holds-run',
  'already-succeeded',
  'not-allowed',
  'budget-spent',
  'being-claimed',
])

/**
 * A refused claim ends its dispatch, unless the task could be taken as it stands by another worker, or later: then it is
 * passed on. When the task has changed since, the change brought a dispatch of its own.
 */
async function settleRefused(
  system: System,
  delivery: Delivery,
  reason: NotClaimed['refused'],
): Promise<void> {
  const { task, passedOn } = delivery
  const isFresh = system.clock.now() - Math.max(task.updatedAt, task.dueAt) < FRESH_MS
  const isPassable = OTHERS_MAY.has(reason) && (isFresh || passedOn < PASSES_MAX)
  if (isPassable && isUnchanged(task, await system.tasks.head(task.id))) {
    await delivery.putBack(PASS_DELAY_S, passedOn + 1)
  } else {
    await delivery.done()
  }
}

function isUnchanged(seen: Task, head: Task | undefined): boolean {
  return head?.born === seen.born && head.revision === seen.revision && openSlots(head) > 0
}
