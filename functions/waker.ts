import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import type { LateEvents } from '../shared/ports/messages.ts'
import { serveWakes } from '../shared/runtime/serve-wakes.ts'
import { tellLate } from '../shared/runtime/tell-late.ts'
import { decodeWake } from '../shared/sqs/wire.ts'
import { composeSystem, flushMetrics } from './compose.ts'
import { composeTelling } from './compose-events.ts'

/** Time kept for the last send before the function's end. */
const MARGIN_MS = 5_000

const system = composeSystem()
const telling = composeTelling(system)

type Received = { readonly messageId: string; readonly wake: ReturnType<typeof decodeWake> }

/** The wake queue: looks at tasks whose time has come, dispatches far minutes, and tells events that are late. */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const stopAt = system.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS
  const received = event.Records.flatMap(readWake)
  const wakes = received.flatMap(({ messageId, wake }) =>
    wake.kind === 'events' ? [] : [{ messageId, wake }],
  )
  const late = received.flatMap(({ messageId, wake }) =>
    wake.kind === 'events' ? [{ messageId, ...wake }] : [],
  )
  const failed = await Promise.all([serveWakes(system, wakes, stopAt), ...late.map(tell)])
  flushMetrics()
  return { batchItemFailures: failed.flat().map(itemIdentifier => ({ itemIdentifier })) }
}

async function tell({ messageId, late }: { messageId: string; late: LateEvents }): Promise<string[]> {
  return (await tellLate(telling, late)) ? [] : [messageId]
}

/** What cannot be read will not become readable: it is logged and let go. */
function readWake({ messageId, body }: SQSRecord): Received[] {
  try {
    return [{ messageId, wake: decodeWake(body) }]
  } catch (error) {
    system.log.error('dropped a wake message that cannot be read', { error, messageId })
    return []
  }
}
