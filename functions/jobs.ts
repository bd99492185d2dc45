import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { serveWakes } from '../shared/runtime/wake/serve-wakes.ts'
import { composeSystem, flushMetrics } from './compose/compose.ts'
import { readWakes } from './read-wakes.ts'

/**
 * How long an invocation works before it leaves the rest to a message of its own: the other jobs get their turn, and the
 * sweeper hears of each job at least twice a minute.
 */
const STRETCH_MS = 25_000
/** Time kept for the page under way and the last send before the function's end. */
const MARGIN_MS = 15_000

const system = composeSystem()

/** The jobs queue: works on jobs of types page by page, and publishes or cancels the members of canvases. */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const leftMs = Math.min(STRETCH_MS, context.getRemainingTimeInMillis() - MARGIN_MS)
  const { wakes, late } = readWakes(system, event)
  if (late.length > 0)
    system.log.error('events came to the jobs queue and are not told', { messages: late.length })
  try {
    const failed = await serveWakes(system, wakes, system.clock.now() + leftMs)
    return { batchItemFailures: failed.map(itemIdentifier => ({ itemIdentifier })) }
  } finally {
    flushMetrics()
  }
}
