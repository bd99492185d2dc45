import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { endedRuns, type Task } from '../shared/core/task.ts'
import type { TaskDefinition } from '../shared/define-task.ts'
import { sendBackSeconds } from '../shared/runtime/early-dispatch.ts'
import { type RunTools, runTask } from '../shared/runtime/run-task.ts'
import { sleepUntil } from '../shared/runtime/sleep-until.ts'
import { flushSpans } from '../shared/runtime/spans.ts'
import type { System } from '../shared/runtime/system.ts'
import { cachedTypes } from '../shared/runtime/type-cache.ts'
import { decodeDispatch } from '../shared/sqs/wire.ts'
import { composeSystem, flushMetrics } from './compose.ts'

/** When so little time is left of the invocation, runs are told to stop and end as timed out. */
const STOP_MARGIN_MS = 3_000

type Handler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>

type Tools = RunTools & { readonly typeOf: ReturnType<typeof cachedTypes> }

type Received = { readonly messageId: string; readonly seen: Task }

/**
 * The Lambda handler that serves a task type from its queue, the messages of a batch side by side. A task whose last
 * run took its process down runs alone: the rest of its batch is sent back first, to be received by others at once.
 */
export function executorOf(definition: TaskDefinition): Handler {
  const system = composeSystem()
  const typeOf = cachedTypes(system)
  return async (event, context) => {
    const outOfTime = new AbortController()
    const timer = setTimeout(() => outOfTime.abort(), context.getRemainingTimeInMillis() - STOP_MARGIN_MS)
    const tools = { definition, typeOf, outOfTime: outOfTime.signal }
    const received = event.Records.flatMap(record => readDispatch(system, record))
    const suspect = received.find(isSuspect)
    const served = suspect ? [suspect] : received
    try {
      const unsent = await sendBackAll(
        system,
        received.filter(one => !served.includes(one)),
      )
      const failed = [unsent, ...(await Promise.all(served.map(one => serve(system, one, context, tools))))]
      return { batchItemFailures: failed.flat().map(itemIdentifier => ({ itemIdentifier })) }
    } finally {
      clearTimeout(timer)
      flushMetrics()
      await flushSpans(system.clock)
    }
  }
}

function isSuspect({ seen }: Received): boolean {
  const last = endedRuns(seen)
    .sort((a, b) => a.fence - b.fence)
    .at(-1)
  return last?.state === 'lost'
}

/** Serves one dispatch; its message id when it could not be served and must come again. */
async function serve(
  system: System,
  { messageId, seen }: Received,
  context: Context,
  tools: Tools,
): Promise<string[]> {
  try {
    await runDispatch(system, seen, context, tools)
    return []
  } catch (error) {
    system.log.error('a dispatch was not served and comes again', { error, taskId: seen.id })
    return [messageId]
  }
}

async function runDispatch(
  system: System,
  seen: Task,
  context: Context,
  { typeOf, ...tools }: Tools,
): Promise<void> {
  const delaySeconds = sendBackSeconds(seen, system.clock.now())
  if (delaySeconds !== undefined) return sendBack(system, seen, delaySeconds)
  await sleepUntil(system.clock, seen.dueAt)
  const webhook = seen.kind === 'webhook' ? (await typeOf(seen.type))?.configuration.webhook : undefined
  const claimer = { workerId: workerIdOf(context) }
  await runTask(system, seen, claimer, { ...tools, ...(webhook && { context: { webhook } }) })
}

/** The invocation is the worker. Short, since heads store it; the start of a request id finds its log lines. */
function workerIdOf({ awsRequestId }: Context): string {
  return `lambda-${awsRequestId.slice(0, 13)}`
}

/** What cannot be read will not become readable: it is logged and let go; the sweeper sends a fresh dispatch. */
function readDispatch(system: System, { messageId, body }: SQSRecord): Received[] {
  try {
    return [{ messageId, seen: decodeDispatch(body) }]
  } catch (error) {
    system.log.error('dropped a dispatch that cannot be read', { error, messageId })
    return []
  }
}

/** Message ids of those that could not be sent back, and must come again by themselves. */
async function sendBackAll(system: System, received: readonly Received[]): Promise<string[]> {
  if (received.length === 0) return []
  const failures = await system.messages.dispatch(
    received.map(({ seen }) => ({ task: seen, delaySeconds: 0 })),
  )
  return failures.flatMap(({ index }) => received[index]?.messageId ?? [])
}

async function sendBack(system: System, task: Task, delaySeconds: number): Promise<void> {
  const failures = await system.messages.dispatch([{ task, delaySeconds }])
  if (failures[0]) throw new Error(`dispatch of ${task.id} not sent back: ${failures[0].reason}`)
}
