import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import type { Task } from '../shared/core/task.ts'
import { taskFromImage } from '../shared/dynamo/items.ts'
import { planChanges } from '../shared/runtime/plan-changes.ts'
import { flushMetrics } from './compose.ts'
import { composePlanningSystem } from './compose-timers.ts'

const system = composePlanningSystem()

/** The table's stream: plans each task that changed. */
export async function handler(event: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const failed = await planChanges(system, event.Records.flatMap(readChange))
  flushMetrics()
  return { batchItemFailures: failed.map(itemIdentifier => ({ itemIdentifier })) }
}

/** What cannot be read will not become readable: it is logged and let go, so that it does not block its shard. */
function readChange({ dynamodb = {} }: DynamoDBRecord): Array<{ task: Task; position: string }> {
  const { NewImage = {}, SequenceNumber = '', Keys } = dynamodb
  try {
    const task = taskFromImage(NewImage)
    return task ? [{ task, position: SequenceNumber }] : []
  } catch (error) {
    system.log.error('skipped a record that cannot be read', { error, keys: Keys })
    return []
  }
}
