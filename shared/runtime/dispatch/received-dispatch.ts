import { QUEUE_DELAY_MS_MAX } from '../../core/bounds.ts'
import { isOutage } from '../../core/errors.ts'
import { startsAt } from '../../core/place/place.ts'
import { pieceOf, workOf } from '../../core/task/piece.ts'
import { endedRuns, type Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { Dispatch } from '../../ports/messages.ts'
import type { System } from '../kernel/system.ts'
import type { RunTools } from '../run/run.ts'

/** The delay of a dispatch that is passed on: this worker could not claim the task, but another may, or this one later. */
export const PASS_DELAY_S = 1
/** A function passes a dispatch on at most this many times. A standalone worker passes a fresh one on without a limit. */
export const PASSES_MAX = 10

/**
 * Functions send a dispatch on at most this many times, for any reason. Then the message stays in its queue. The reason:
 * Lambda refuses the 17th invocation of one function in a chain of messages, and a batch continues its longest chain.
 */
export const DISPATCH_HOPS_MAX = 12

/** A dispatch as the queue delivered it. */
export type ReceivedDispatch = {
  readonly messageId: string
  readonly seen: Task
  /** How often workers have passed it on. @default 0 */
  readonly passedOn?: number
  /** How often functions have sent it on. @default 0 */
  readonly hops?: number
}

export type DispatchTools = RunTools & {
  readonly typeOf: (type: string) => Promise<TaskType | undefined>
}

/**
 * A dispatch that met an outage is sent again with this delay. Otherwise its message would stay hidden for the visibility
 * timeout. From the fifth time on the delay doubles, so that the chain of messages spans outages of an hour.
 */
const OUTAGE_DELAY_S = 20
const OUTAGE_DELAYS_ALIKE = 4

function outageDelaySeconds(hops: number): number {
  const doubled = OUTAGE_DELAY_S * 2 ** Math.max(0, hops - OUTAGE_DELAYS_ALIKE + 1)
  return Math.min(doubled, QUEUE_DELAY_MS_MAX / 1_000)
}

/** Serves a dispatch. Returns its message id if it failed and the queue must deliver it again, else nothing. */
export async function serveOrRedeliver(
  system: System,
  one: ReceivedDispatch,
  serve: () => Promise<void>,
): Promise<string[]> {
  const { messageId, seen, passedOn = 0, hops = 0 } = one
  try {
    await serve()
    return []
  } catch (error) {
    system.log.error('a dispatch was not served and is delivered again', { error, taskId: seen.id })
    const isSent =
      isOutage(error) && (await sendBack(system, one, outageDelaySeconds(hops), passedOn).then(always, never))
    return isSent ? [] : [messageId]
  }
}

const always = () => true
const never = () => false

/** Whether the last run of the task's present stage or step was lost, which suggests that it took its process down. */
export function isSuspect(task: Task): boolean {
  const piece = pieceOf(task)
  const last = endedRuns(task)
    .filter(run => run.piece === piece)
    .sort((a, b) => a.fence - b.fence)
    .at(-1)
  return last?.state === 'lost'
}

/** The tools of a run of this task. A task of kind `webhook` gets its type's webhook configuration. */
export async function toolsFor(task: Task, { typeOf, ...tools }: DispatchTools): Promise<RunTools> {
  const { kind, type } = workOf(task)
  const webhook = kind === 'webhook' ? (await typeOf(type))?.configuration.webhook : undefined
  return { ...tools, ...(webhook && { context: { webhook } }) }
}

/**
 * Sends a dispatch to its queue again, with a delay.
 *
 * @throws Error when it was not sent. Then the queue must deliver its message again.
 */
export async function sendBack(
  system: System,
  one: ReceivedDispatch,
  delaySeconds: number,
  passedOn = one.passedOn ?? 0,
): Promise<void> {
  if (isChainOver(system, [one])) {
    throw new Error(`the dispatch of ${one.seen.id} stays in its queue: it was sent on ${one.hops} times`)
  }
  const failures = await system.messages.dispatch([forwardedDispatch(one, delaySeconds, passedOn)])
  if (failures[0]) throw new Error(`the dispatch of ${one.seen.id} was not sent back: ${failures[0].reason}`)
}

/** The dispatch that is sent on for a received one. */
export function forwardedDispatch(
  { seen, passedOn: passed = 0, hops = 0 }: ReceivedDispatch,
  delaySeconds: number,
  passedOn = passed,
): Dispatch {
  return { task: seen, delaySeconds, ...(passedOn > 0 && { passedOn }), hops: hops + 1 }
}

/**
 * The batch, with the hops of its longest chain at each dispatch: Lambda counts all that an invocation sends to that
 * chain.
 */
export function withLongestChain(received: readonly ReceivedDispatch[]): ReceivedDispatch[] {
  const hops = Math.max(0, ...received.map(one => one.hops ?? 0))
  return received.map(one => ({ ...one, hops }))
}

/** Whether the dispatches that one invocation received must not be sent on any more. If so, counts and logs them. */
export function isChainOver({ metrics, log }: System, received: readonly ReceivedDispatch[]): boolean {
  const [first] = received
  if (first === undefined || (first.hops ?? 0) < DISPATCH_HOPS_MAX) return false
  const { seen, hops } = first
  metrics.add('LookLoop', received.length, seen.type)
  log.warn('dispatches were sent on too often and stay in their queue', {
    taskId: seen.id,
    dispatches: received.length,
    hops,
  })
  return true
}

/** A worker waits in place for a dispatch that arrives early by less than this. An earlier one goes back with a delay. */
const EARLY_WAIT_MS_MAX = 1_500

/**
 * The delay in seconds with which a dispatch is sent back that is still not due after the wait for its due time. That
 * happens when the clock was set back meanwhile. A claim would be refused as not due. Undefined when the task is due.
 */
export function notDueDelaySeconds({ dueAt }: Task, now: number): number | undefined {
  return dueAt > now ? Math.ceil(Math.min(dueAt - now, QUEUE_DELAY_MS_MAX) / 1_000) : undefined
}

/** The delay in seconds with which a too early dispatch is sent back. Undefined when the worker waits in place instead. */
export function earlyDelaySeconds(task: Task, now: number): number | undefined {
  const early = startsAt(task) - now
  return early > EARLY_WAIT_MS_MAX ? Math.floor(Math.min(early, QUEUE_DELAY_MS_MAX) / 1_000) : undefined
}
