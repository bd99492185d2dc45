import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { serveWakes } from '../shared/runtime/wake.ts'
import { flushMetrics } from './compose/compose.ts'
import { composeDiagnosticSystem } from './compose/compose-dead-letters.ts'
import { readWakes } from './read-wakes.ts'

/**
 * An invocation works this long on its jobs, and then sends the rest of each as another message. Other jobs thus get their
 * share, and each job records its progress for the sweeper at least twice a minute.
 */
const WORK_MS_MAX = 25_000
/** The time that is kept for the current page and the last send before the invocation ends. */
const MARGIN_MS = 15_000

const system = composeDiagnosticSystem()

/** Serves the jobs queue: works on jobs and bulk operations page by page, and publishes, counts or cancels the members of canvases. */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const leftMs = Math.min(WORK_MS_MAX, context.getRemainingTimeInMillis() - MARGIN_MS)
  const { wakes, lateEvents } = readWakes(system, event)
  if (lateEvents.length > 0)
    system.log.error('dropped late events; they belong in the wake queue', { messages: lateEvents.length })
  try {
    const failed = await serveWakes(system, wakes, system.clock.now() + leftMs)
    return { batchItemFailures: failed.map(itemIdentifier => ({ itemIdentifier })) }
  } finally {
    flushMetrics()
  }
}
