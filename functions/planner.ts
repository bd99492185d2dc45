import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import type { Task } from '../shared/core/task.ts'
import { taskFromImage } from '../shared/dynamo/items.ts'
import { planTasks } from '../shared/runtime/plan-tasks.ts'
import { flushMetrics } from './compose.ts'
import { composePlanningSystem } from './compose-timers.ts'

const system = composePlanningSystem()

/**
 * The table's stream: plans each task that changed. Of several changes of one task in a batch only the newest is
 * planned, since a plan follows from the task alone. What cannot be read, or whose message is refused, is
 * skipped: one bad item must not block the shard.
 */
export async function handler(event: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const newest = new Map<string, { task: Task; record: DynamoDBRecord }>()
  for (const record of event.Records) {
    const task = taskIn(record)
    if (task) newest.set(task.id, { task, record })
  }
  const failures = await planTasks(
    system,
    [...newest.values()].map(({ task }) => task),
  )
  flushMetrics()
  for (const failure of failures) {
    if (failure.transient) system.log.warn('not planned yet', failure)
    else system.log.error('not planned: its message is refused', failure)
  }
  const worthRepeating = failures.filter(({ transient }) => transient)
  return { batchItemFailures: worthRepeating.flatMap(({ id }) => failureOf(newest.get(id)?.record)) }
}

function taskIn(record: DynamoDBRecord): Task | undefined {
  try {
    return taskFromImage(record.dynamodb?.NewImage ?? {})
  } catch (error) {
    system.log.error('skipped a record that cannot be read', { error, keys: record.dynamodb?.Keys })
    return undefined
  }
}

function failureOf(record: DynamoDBRecord | undefined): Array<{ itemIdentifier: string }> {
  const sequence = record?.dynamodb?.SequenceNumber
  return sequence === undefined ? [] : [{ itemIdentifier: sequence }]
}
