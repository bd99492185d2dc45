import type { Claimer } from '../core/claim.ts'
import { BatonError } from '../core/errors.ts'
import { endedRuns, type Task } from '../core/task.ts'
import { pieceOf, workOf } from '../core/work.ts'
import type { TaskDefinition } from '../define/define-task.ts'
import type { Clock } from '../ports.ts'
import { sendBackSeconds } from './early-dispatch.ts'
import { type RunTools, runTask } from './run-task.ts'
import { sleepUntil } from './sleep-until.ts'
import type { System } from './system.ts'
import type { cachedTypes } from './type-cache.ts'

/** A dispatch as its queue delivered it. */
type Received = { readonly messageId: string; readonly seen: Task }

type ServingTools = {
  readonly definition: TaskDefinition
  readonly typeOf: ReturnType<typeof cachedTypes>
  /** By the system's clock: when runs are told to stop, and end as timed out. */
  readonly stopAt: number
}

type Tools = RunTools & Pick<ServingTools, 'typeOf'>

/**
 * Serves a batch of dispatches of one type, side by side; answers the ids of the messages that must come again. A task
 * whose last run took its process down runs alone: the rest of its batch is sent back first, to be received by others at
 * once.
 */
export async function serveDispatches(
  system: System,
  received: readonly Received[],
  claimer: Claimer,
  { stopAt, ...rest }: ServingTools,
): Promise<string[]> {
  const suspect = received.find(isSuspect)
  const served = suspect ? [suspect] : received
  const over = new AbortController()
  const tools = { ...rest, outOfTime: signalAt(system.clock, stopAt, over.signal) }
  try {
    const unsent = await sendBackAll(
      system,
      received.filter(one => !served.includes(one)),
    )
    const failed = await Promise.all(served.map(one => serve(system, one, claimer, tools)))
    return [...unsent, ...failed.flat()]
  } finally {
    over.abort()
  }
}

function isSuspect({ seen }: Received): boolean {
  const piece = pieceOf(seen)
  const last = endedRuns(seen)
    .filter(run => run.piece === piece)
    .sort((a, b) => a.fence - b.fence)
    .at(-1)
  return last?.state === 'lost'
}

/** Aborts at `time`, unless `over` comes first. */
function signalAt(clock: Clock, time: number, over: AbortSignal): AbortSignal {
  const reached = new AbortController()
  void clock.sleep(time - clock.now(), over).then(() => {
    if (!over.aborted) reached.abort()
  })
  return reached.signal
}

/** Message ids of those that could not be sent back, and must come again by themselves. */
async function sendBackAll(system: System, received: readonly Received[]): Promise<string[]> {
  if (received.length === 0) return []
  const failures = await system.messages.dispatch(
    received.map(({ seen }) => ({ task: seen, delaySeconds: 0 })),
  )
  return failures.flatMap(({ index }) => received[index]?.messageId ?? [])
}

/** A dispatch that met an outage is sent anew with this delay; by itself it would hide for its visibility timeout. */
const OUTAGE_DELAY_S = 20

/** Serves one dispatch; its message id when it could not be served and must come again. */
async function serve(
  system: System,
  { messageId, seen }: Received,
  claimer: Claimer,
  tools: Tools,
): Promise<string[]> {
  try {
    await runDispatch(system, seen, claimer, tools)
    return []
  } catch (error) {
    system.log.error('a dispatch was not served and comes again', { error, taskId: seen.id })
    const isOutage = error instanceof BatonError && error.code === 'unavailable'
    const isSent = isOutage && (await sendBack(system, seen, OUTAGE_DELAY_S).then(always, never))
    return isSent ? [] : [messageId]
  }
}

const always = () => true
const never = () => false

async function runDispatch(
  system: System,
  seen: Task,
  claimer: Claimer,
  { typeOf, ...tools }: Tools,
): Promise<void> {
  const delaySeconds = sendBackSeconds(seen, system.clock.now())
  if (delaySeconds !== undefined) return sendBack(system, seen, delaySeconds)
  await sleepUntil(system.clock, seen.dueAt)
  const { kind, type } = workOf(seen)
  const webhook = kind === 'webhook' ? (await typeOf(type))?.configuration.webhook : undefined
  await runTask(system, seen, claimer, { ...tools, ...(webhook && { context: { webhook } }) })
}

async function sendBack(system: System, task: Task, delaySeconds: number): Promise<void> {
  const failures = await system.messages.dispatch([{ task, delaySeconds }])
  if (failures[0]) throw new Error(`dispatch of ${task.id} not sent back: ${failures[0].reason}`)
}
