import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { serveWakes } from '../shared/runtime/wake/serve-wakes.ts'
import { composeSystem, flushMetrics } from './compose/compose.ts'
import { readWakes } from './read-wakes.ts'

/**
 * How long an invocation works before it sends the rest of a job as another message. So other jobs get their share, and each
 * job records its progress for the sweeper at least twice a minute.
 */
const STRETCH_MS = 25_000
/** The time that is kept for the current page and the last send before the invocation ends. */
const MARGIN_MS = 15_000

const system = composeSystem()

/** Serves the jobs queue: works on jobs of types page by page, and publishes or cancels the members of canvases. */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const leftMs = Math.min(STRETCH_MS, context.getRemainingTimeInMillis() - MARGIN_MS)
  const { wakes, late } = readWakes(system, event)
  if (late.length > 0)
    system.log.error('dropped events that came to the jobs queue', { messages: late.length })
  try {
    const failed = await serveWakes(system, wakes, system.clock.now() + leftMs)
    return { batchItemFailures: failed.map(itemIdentifier => ({ itemIdentifier })) }
  } finally {
    flushMetrics()
  }
}
