import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda'
import type { LateEvents } from '../shared/ports/messages.ts'
import { publishLateEvents } from '../shared/runtime/events/publish-late-events.ts'
import { serveWakes } from '../shared/runtime/wake/serve-wakes.ts'
import { composeSystem, flushMetrics } from './compose/compose.ts'
import { composeEventSystem } from './compose/compose-events.ts'
import { readWakes } from './read-wakes.ts'

/** Time kept for the last send before the function's end. */
const MARGIN_MS = 5_000

const system = composeSystem()
const telling = composeEventSystem(system)

/**
 * The wake queue: looks at tasks whose time has come, dispatches far minutes, and tells events that are late. A long job
 * that an earlier version sent here is served here.
 */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const stopAt = system.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS
  const { wakes, late } = readWakes(system, event)
  const failed = await Promise.all([serveWakes(system, wakes, stopAt), ...late.map(tell)])
  flushMetrics()
  return { batchItemFailures: failed.flat().map(itemIdentifier => ({ itemIdentifier })) }
}

async function tell({ messageId, late }: { messageId: string; late: LateEvents }): Promise<string[]> {
  return (await publishLateEvents(telling, late)) ? [] : [messageId]
}
