import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda'
import type { LateEvents } from '../shared/ports/messages.ts'
import { publishLateEvents } from '../shared/runtime/stream/events.ts'
import { serveWakes } from '../shared/runtime/wake.ts'
import { composeSystem, flushMetrics } from './compose/compose.ts'
import { composeEventSystem } from './compose/compose-events.ts'
import { readWakes } from './read-wakes.ts'

/** The time that is kept for the last send before the invocation ends. */
const MARGIN_MS = 5_000

const system = composeSystem()
const eventSystem = composeEventSystem(system)

/**
 * The waker, which serves the wake queue. It serves looks, dispatches the tasks of a minute when its EventBridge schedule
 * fires, and publishes late events. It also serves the jobs that an earlier version sent to this queue.
 */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const stopAt = system.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS
  const { wakes, lateEvents } = readWakes(system, event)
  const failed = await Promise.all([serveWakes(system, wakes, stopAt), ...lateEvents.map(publishLate)])
  flushMetrics()
  return { batchItemFailures: failed.flat().map(itemIdentifier => ({ itemIdentifier })) }
}

async function publishLate({ messageId, late }: { messageId: string; late: LateEvents }): Promise<string[]> {
  return (await publishLateEvents(eventSystem, late)) ? [] : [messageId]
}
