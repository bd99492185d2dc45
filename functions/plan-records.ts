/**
 * Plans the records of the table's stream.
 *
 * Lambda tries a failing batch again for 12 hours, and its shard waits meanwhile. So only an outage may fail a batch. A record that this
 * code cannot digest is skipped, with an error in the log and the metric `TaskFault`:
 *
 * - a record that cannot be read is left out of its batch
 * - a task that cannot be planned is planned alone, and skipped if that fails (`isolateFaults`)
 * - events, looks at lines and counts that fail are left out, each on its own
 * - after any other mistake of the code Lambda divides the batch until the record is alone, and then it is skipped
 */

import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import type { HeadReader } from '../shared/aws/dynamo/head/head-reader.ts'
import { limitChangeIn } from '../shared/aws/dynamo/limits/limit-store.ts'
import { workerChangeIn } from '../shared/aws/dynamo/worker/worker-store.ts'
import { EVERY_TYPE } from '../shared/core/bounds.ts'
import { BatonError, isItemFault } from '../shared/core/values/values.ts'
import type { PlanningSystem } from '../shared/runtime/kernel/system.ts'
import { planLimits } from '../shared/runtime/limits/begin-looks.ts'
import { countOutcomes, type EventPublisher, type StreamChange } from '../shared/runtime/stream/events.ts'
import { type ActivityMeter, countFailures } from '../shared/runtime/stream/statistics.ts'
import { planChanges } from '../shared/runtime/stream/stream.ts'

type Parts = {
  readonly system: PlanningSystem
  readonly heads: Pick<HeadReader, 'taskInImage'>
  readonly publishEvents: EventPublisher
  readonly activity: ActivityMeter
  flushMetrics(): void
}

/** Creates the planner of a process. It returns the records that Lambda must deliver again. */
export function createRecordPlanner(
  parts: Parts,
): (event: Pick<DynamoDBStreamEvent, 'Records'>) => Promise<DynamoDBBatchResponse> {
  return async ({ Records }) => {
    try {
      const failed = await planRecords(parts, Records)
      return { batchItemFailures: failed.map(itemIdentifier => ({ itemIdentifier })) }
    } catch (error) {
      const [record, ...others] = Records
      if (!record || others.length > 0 || !isItemFault(error)) throw error
      skip(parts.system, record, error)
      return { batchItemFailures: [] }
    } finally {
      parts.flushMetrics()
    }
  }
}

/** Plans a batch. Returns the positions of the changes that Lambda must deliver again. */
async function planRecords(
  { system, heads, publishEvents, activity }: Parts,
  records: readonly DynamoDBRecord[],
): Promise<string[]> {
  const changes = (await Promise.all(records.map(record => readChange(system, heads, record)))).flat()
  const tasks = changes.filter(change => 'task' in change)
  const limits = records.flatMap(({ dynamodb }) => limitChangeIn(dynamodb?.NewImage ?? {}) ?? [])
  const planned = await Promise.all([
    planChanges(system, tasks),
    publishEvents(changes),
    planLimits(system, limits),
  ])
  const failed = planned.flatMap(positions => positions ?? [])
  const batch = { positions: records.map(positionOf), failed }
  countOutcomes(system, tasks, batch)
  await Promise.all([countFailures(system, tasks, batch), activity.count(tasks, batch)])
  return failed
}

/**
 * Reads the change in a record. An unreadable record stays unreadable, so it is skipped. When the store does not answer, the error is
 * thrown, and the stream delivers the whole batch again.
 */
async function readChange(
  system: PlanningSystem,
  heads: Parts['heads'],
  record: DynamoDBRecord,
): Promise<StreamChange[]> {
  const position = positionOf(record)
  try {
    const worker = workerChangeIn(record)
    if (worker) return [{ worker, position }]
    const task = await heads.taskInImage(record.dynamodb?.NewImage ?? {})
    return task ? [{ task, position }] : []
  } catch (error) {
    if (error instanceof BatonError && error.code === 'unavailable') throw error
    skip(system, record, error)
    return []
  }
}

function skip({ log, metrics }: PlanningSystem, { dynamodb }: DynamoDBRecord, error: unknown): void {
  metrics.add('TaskFault', 1, EVERY_TYPE)
  log.error('skipped a record of the stream that cannot be processed', { error, keys: dynamodb?.Keys })
}

function positionOf({ dynamodb }: DynamoDBRecord): string {
  return dynamodb?.SequenceNumber ?? ''
}
