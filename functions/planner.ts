import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { BatonError } from '../shared/core/errors.ts'
import type { Task } from '../shared/core/task.ts'
import { planChanges } from '../shared/runtime/plan-changes.ts'
import { composeHeadReader, flushMetrics } from './compose.ts'
import { composePlanningSystem } from './compose-timers.ts'

const system = composePlanningSystem()
const heads = composeHeadReader()

/** The table's stream: plans each task that changed. */
export async function handler(event: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const changes = await Promise.all(event.Records.map(readChange))
  const failed = await planChanges(system, changes.flat())
  flushMetrics()
  return { batchItemFailures: failed.map(itemIdentifier => ({ itemIdentifier })) }
}

/**
 * What cannot be read will not become readable: it is logged and let go, so that it does not block its shard. When the
 * store does not answer, the whole batch comes again.
 */
async function readChange({
  dynamodb = {},
}: DynamoDBRecord): Promise<Array<{ task: Task; position: string }>> {
  const { NewImage = {}, SequenceNumber = '', Keys } = dynamodb
  try {
    const task = await heads.taskInImage(NewImage)
    return task ? [{ task, position: SequenceNumber }] : []
  } catch (error) {
    if (error instanceof BatonError && error.code === 'unavailable') throw error
    system.log.error('skipped a record that cannot be read', { error, keys: Keys })
    return []
  }
}
