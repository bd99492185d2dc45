import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { limitChangeIn } from '../shared/aws/dynamo/limits/limit-changes.ts'
import { workerChangeIn } from '../shared/aws/dynamo/worker/worker-changes.ts'
import { BatonError } from '../shared/core/errors.ts'
import { createActivityMeter } from '../shared/runtime/activity/activity.ts'
import { countOutcomes } from '../shared/runtime/events/count-outcomes.ts'
import { createEventPublisher, type StreamChange } from '../shared/runtime/events/events.ts'
import { countFailures } from '../shared/runtime/failures/failures.ts'
import { planLimits } from '../shared/runtime/limits/begin-looks.ts'
import { planChanges } from '../shared/runtime/stream/stream.ts'
import { composeHeadReader, flushMetrics } from './compose/compose.ts'
import { composeEventSystem } from './compose/compose-events.ts'
import { composePlanningSystem } from './compose/compose-timers.ts'

const system = composePlanningSystem()
const heads = composeHeadReader()
const publishEvents = createEventPublisher(composeEventSystem(system))
const activity = createActivityMeter(system)

/** The planner, which reads the table's stream. It plans what each change calls for, publishes events, and counts outcomes, failures and activity. */
export async function handler(event: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const changes = (await Promise.all(event.Records.map(readChange))).flat()
  const tasks = changes.filter(change => 'task' in change)
  const limits = event.Records.flatMap(({ dynamodb }) => limitChangeIn(dynamodb?.NewImage ?? {}) ?? [])
  const planned = await Promise.all([
    planChanges(system, tasks),
    publishEvents(changes),
    planLimits(system, limits),
  ])
  const failed = planned.flatMap(positions => positions ?? [])
  const batch = { positions: event.Records.map(positionOf), failed }
  countOutcomes(system, tasks, batch)
  await Promise.all([countFailures(system, tasks, batch), activity.count(tasks, batch)])
  flushMetrics()
  return { batchItemFailures: failed.map(itemIdentifier => ({ itemIdentifier })) }
}

/**
 * Reads the change in a record. An unreadable record stays unreadable, so it is logged and skipped. Otherwise it
 * would block its shard. When the store does not answer, the error is thrown, and the stream delivers the whole batch again.
 */
async function readChange(record: DynamoDBRecord): Promise<StreamChange[]> {
  const { NewImage = {}, Keys } = record.dynamodb ?? {}
  const position = positionOf(record)
  try {
    const worker = workerChangeIn(record)
    if (worker) return [{ worker, position }]
    const task = await heads.taskInImage(NewImage)
    return task ? [{ task, position }] : []
  } catch (error) {
    if (error instanceof BatonError && error.code === 'unavailable') throw error
    system.log.error('skipped a record that cannot be read', { error, keys: Keys })
    return []
  }
}

function positionOf({ dynamodb }: DynamoDBRecord): string {
  return dynamodb?.SequenceNumber ?? ''
}
