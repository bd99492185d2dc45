import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import type { TaskDefinition } from '../shared/define/define-task.ts'
import type { Received } from '../shared/runtime/received-dispatch.ts'
import { serveDispatches } from '../shared/runtime/serve-dispatches.ts'
import { flushSpans } from '../shared/runtime/spans.ts'
import type { System } from '../shared/runtime/system.ts'
import { cachedTypes } from '../shared/runtime/type-cache.ts'
import { decodeDispatch } from '../shared/sqs/wire.ts'
import { composeSystem, flushMetrics } from './compose.ts'

/** When so little time is left of the invocation, runs are told to stop and end as timed out. */
const STOP_MARGIN_MS = 3_000

type Handler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>

/** The Lambda handler that serves a task type from its queue. */
export function executorOf(definition: TaskDefinition): Handler {
  const system = composeSystem()
  const typeOf = cachedTypes(system)
  return async (event, context) => {
    const stopAt = system.clock.now() + context.getRemainingTimeInMillis() - STOP_MARGIN_MS
    const received = event.Records.flatMap(record => readDispatch(system, record))
    const claimer = { workerId: workerIdOf(context) }
    try {
      const failed = await serveDispatches(system, received, claimer, { definition, typeOf, stopAt })
      return { batchItemFailures: failed.map(itemIdentifier => ({ itemIdentifier })) }
    } finally {
      flushMetrics()
      await flushSpans(system.clock)
    }
  }
}

/** What cannot be read will not become readable: it is logged and let go; the sweeper sends a fresh dispatch. */
function readDispatch(system: System, { messageId, body }: SQSRecord): Received[] {
  try {
    const { task: seen, ...chain } = decodeDispatch(body)
    return [{ messageId, seen, ...chain }]
  } catch (error) {
    system.log.error('dropped a dispatch that cannot be read', { error, messageId })
    return []
  }
}

/** The invocation is the worker. Short, since heads store it; the start of a request id finds its log lines. */
function workerIdOf({ awsRequestId }: Context): string {
  return `lambda-${awsRequestId.slice(0, 13)}`
}
