import { QUEUE_DELAY_MS_MAX } from '../../core/bounds.ts'
import { isOutage } from '../../core/errors.ts'
import { startsAt } from '../../core/place/place.ts'
import { pieceOf, workOf } from '../../core/task/piece.ts'
import { endedRuns, type Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { Dispatch } from '../../ports/messages.ts'
import type { System } from '../kernel/system.ts'
import type { RunTools } from '../run/run.ts'

/** A dispatch of a task that may be claimed as it stands, by others or later, is passed on after so long, */
export const PASS_DELAY_S = 1
/** and so often. */
export const PASSES_MAX = 10

/**
 * Functions send a dispatch on at most so often, for whatever reasons: Lambda refuses the 17th invocation of one function in a
 * chain of messages, and a batch goes on from its longest chain. Then the message stays in its queue.
 */
export const DISPATCH_HOPS_MAX = 12

/** A dispatch as its queue delivered it. */
export type ReceivedDispatch = {
  readonly messageId: string
  readonly seen: Task
  /** How often it has been passed on. @default 0 */
  readonly passedOn?: number
  /** How often functions have sent it on. @default 0 */
  readonly hops?: number
}

export type DispatchTools = RunTools & {
  readonly typeOf: (type: string) => Promise<TaskType | undefined>
}

/**
 * A dispatch that met an outage is sent anew with this delay; by itself it would hide for its visibility timeout. From the
 * fifth time on the delay doubles, so that the chain spans outages of an hour.
 */
const OUTAGE_DELAY_S = 20
const OUTAGE_DELAYS_ALIKE = 4

function outageDelaySeconds(hops: number): number {
  const doubled = OUTAGE_DELAY_S * 2 ** Math.max(0, hops - OUTAGE_DELAYS_ALIKE + 1)
  return Math.min(doubled, QUEUE_DELAY_MS_MAX / 1_000)
}

/** Serves a dispatch; its message id when it could not be served and must come again. */
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
    system.log.error('a dispatch was not served and comes again', { error, taskId: seen.id })
    const isSent =
      isOutage(error) && (await sendBack(system, one, outageDelaySeconds(hops), passedOn).then(always, never))
    return isSent ? [] : [messageId]
  }
}

const always = () => true
const never = () => false

/** Whether the last run of the task's present piece took its process down. */
export function isSuspect(task: Task): boolean {
  const piece = pieceOf(task)
  const last = endedRuns(task)
    .filter(run => run.piece === piece)
    .sort((a, b) => a.fence - b.fence)
    .at(-1)
  return last?.state === 'lost'
}

/** What a run of this very task is given. */
export async function toolsFor(task: Task, { typeOf, ...tools }: DispatchTools): Promise<RunTools> {
  const { kind, type } = workOf(task)
  const webhook = kind === 'webhook' ? (await typeOf(type))?.configuration.webhook : undefined
  return { ...tools, ...(webhook && { context: { webhook } }) }
}

/** @throws Error when it was not sent: its message must come again by itself. */
export async function sendBack(
  system: System,
  one: ReceivedDispatch,
  delaySeconds: number,
  passedOn = one.passedOn ?? 0,
): Promise<void> {
  if (isChainOver(system, [one])) {
    throw new Error(`the dispatch of ${one.seen.id} stays in its queue: its chain is over`)
  }
  const failures = await system.messages.dispatch([forwardedDispatch(one, delaySeconds, passedOn)])
  if (failures[0]) throw new Error(`dispatch of ${one.seen.id} not sent back: ${failures[0].reason}`)
}

/** The dispatch that goes on from a received one. */
export function forwardedDispatch(
  { seen, passedOn: passed = 0, hops = 0 }: ReceivedDispatch,
  delaySeconds: number,
  passedOn = passed,
): Dispatch {
  return { task: seen, delaySeconds, ...(passedOn > 0 && { passedOn }), hops: hops + 1 }
}

/** All that one invocation sends goes on from the longest chain of its batch. */
export function withLongestChain(received: readonly ReceivedDispatch[]): ReceivedDispatch[] {
  const hops = Math.max(0, ...received.map(one => one.hops ?? 0))
  return received.map(one => ({ ...one, hops }))
}

/** Whether these dispatches, which one invocation received, must not be sent on any more. */
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
const MAX_WAIT_MS = 1_500

/**
 * With how many seconds of delay a dispatch is sent back whose time has not come although it was waited for: the clock was set
 * back meanwhile, and a claim would be refused as not due. Undefined: its time has come.
 */
export function notDueDelaySeconds({ dueAt }: Task, now: number): number | undefined {
  return dueAt > now ? Math.ceil(Math.min(dueAt - now, QUEUE_DELAY_MS_MAX) / 1_000) : undefined
}

/** With how many seconds of delay a dispatch that came too early is sent back; undefined: wait out the rest. */
export function earlyDelaySeconds(task: Task, now: number): number | undefined {
  const early = startsAt(task) - now
  return early > MAX_WAIT_MS ? Math.floor(Math.min(early, QUEUE_DELAY_MS_MAX) / 1_000) : undefined
}
