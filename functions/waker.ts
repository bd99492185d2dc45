import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { wakeMinute, wakeMinuteShard, wakeTasks } from '../shared/runtime/wake-tasks.ts'
import { decodeWake, type Wake } from '../shared/sqs/wire.ts'
import { composeSystem, flushMetrics } from './compose.ts'

/** Time kept for the last send before the function's end. */
const MARGIN_MS = 5_000

const system = composeSystem()

/** The wake queue: looks at tasks whose time has come, side by side, and dispatches far minutes. */
export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const stopAt = system.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS
  const wakes = event.Records.flatMap(({ messageId, body }) => readWake(messageId, body))
  const failed = await Promise.all([lookAll(wakes), ...wakes.map(wake => wakeFar(wake, stopAt))])
  flushMetrics()
  return { batchItemFailures: failed.flat().map(itemIdentifier => ({ itemIdentifier })) }
}

type Received = { messageId: string; wake: Wake }

/** What cannot be read will not become readable: it is logged and let go. */
function readWake(messageId: string, body: string): Received[] {
  try {
    return [{ messageId, wake: decodeWake(body) }]
  } catch (error) {
    system.log.error('dropped a wake message that cannot be read', { error, messageId })
    return []
  }
}

async function lookAll(received: readonly Received[]): Promise<string[]> {
  const looks = received.flatMap(({ messageId, wake }) =>
    wake.kind === 'look' ? [{ messageId, look: wake.look }] : [],
  )
  if (looks.length === 0) return []
  const failures = await wakeTasks(
    system,
    looks.map(({ look }) => look),
  )
  const failedIds = new Set(failures.filter(({ transient }) => transient).map(({ id }) => id))
  for (const failure of failures) system.log.warn('look not done yet', failure)
  return looks.filter(({ look }) => failedIds.has(look.id)).map(({ messageId }) => messageId)
}

async function wakeFar({ messageId, wake }: Received, stopAt: number): Promise<string[]> {
  if (wake.kind === 'look') return []
  try {
    if (wake.kind === 'minute') await wakeMinute(system, wake.minute)
    else await wakeMinuteShard(system, wake.look, stopAt)
    return []
  } catch (error) {
    system.log.warn('minute not dispatched yet', { error, messageId })
    return [messageId]
  }
}
