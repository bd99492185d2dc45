import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import type { Wake } from '../shared/ports.ts'
import { serveWakes } from '../shared/runtime/serve-wakes.ts'
import { decodeWake } from '../shared/sqs/wire.ts'
import { composeSystem, flushMetrics } from './compose.ts'

/** Time kept for the last send before the function's end. */
const MARGIN_MS = 5_000

const system = composeSystem()

/** The wake queue: looks at tasks whose time has come, and dispatches far minutes. */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const stopAt = system.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS
  const failed = await serveWakes(system, event.Records.flatMap(readWake), stopAt)
  flushMetrics()
  return { batchItemFailures: failed.map(itemIdentifier => ({ itemIdentifier })) }
}

/** What cannot be read will not become readable: it is logged and let go. */
function readWake({ messageId, body }: SQSRecord): Array<{ messageId: string; wake: Wake }> {
  try {
    return [{ messageId, wake: decodeWake(body) }]
  } catch (error) {
    system.log.error('dropped a wake message that cannot be read', { error, messageId })
    return []
  }
}
