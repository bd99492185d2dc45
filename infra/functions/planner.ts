import { Duration } from 'aws-cdk-lib'
import {
  EventSourceMapping,
  FilterCriteria,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { STREAM_FILTERS } from '../../shared/aws/dynamo/stream-filters.ts'
import {
  PLANNER_TIMEOUT_S,
  STREAM_BATCH_SIZE,
  STREAM_PARALLELIZATION,
  STREAM_RECORD_AGE_HOURS_MAX,
  STREAM_RETRIES_MAX,
} from '../bounds.ts'
import { systemCode } from '../bundling/system-code.ts'
import { watchAttention, watchIteratorAge } from '../monitoring/alarms.ts'
import type { Parts } from '../parts.ts'
import { allow } from '../permissions/permissions.ts'
import { PUBLISHER_ACCESS } from '../task-table.ts'
import { createFunction, reserving } from './functions.ts'

export type PlannerProps = {
  /** Concurrent batches of each shard of the stream, 1–10. Changes of one task stay in order. @default 2 */
  readonly parallelization?: number
  /** Megabytes, 128–10,240. With more memory the function has more processor time. @default 512 */
  readonly memorySize?: number
}

/**
 * The function that reads the table's stream. It sends what each changed task needs next, publishes owed callbacks, and
 * publishes events.
 */
export class Planner extends Construct {
  readonly function: LambdaFunction

  constructor(
    scope: Construct,
    id: string,
    parts: Parts,
    { parallelization, memorySize }: PlannerProps,
    reservedConcurrency?: number,
  ) {
    super(scope, id)
    const { settings, table, messages, timers, events } = parts
    this.function = createFunction(this, settings, {
      code: systemCode(this, 'planner'),
      description: 'Baton: sends what changed tasks need next',
      timeout: Duration.seconds(PLANNER_TIMEOUT_S),
      ...(memorySize !== undefined && { memorySize }),
      ...reserving(reservedConcurrency),
    })
    table.openTo(this.function, PUBLISHER_ACCESS)
    messages.openTo(this.function, { wakes: true, jobs: true, dispatchesTo: 'every-type' })
    timers.openTo(this.function)
    events.openTo(this.function)
    this.readStream(parts, parallelization ?? STREAM_PARALLELIZATION)
    watchIteratorAge(this, settings, this.function)
    watchAttention(this, settings)
  }

  /**
   * The mapping takes minutes to begin. It reads from the start of the stream, so that it misses no record from before. Lambda tries a
   * failing batch again for 12 hours, so the function itself skips a record that no retry can serve. Lambda reports a batch that it
   * gives up only by its position in the stream. The sweeper repairs from the table itself.
   */
  private readStream({ messages, table }: Parts, parallelizationFactor: number): void {
    const failures = messages.deadLetters.queue
    allow(this.function, { actions: ['sqs:SendMessage'], resources: [failures.queueArn] })
    table.openStreamTo(this.function)
    new EventSourceMapping(this, 'Mapping', {
      target: this.function,
      eventSourceArn: table.streamArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: STREAM_BATCH_SIZE,
      parallelizationFactor,
      bisectBatchOnError: true,
      reportBatchItemFailures: true,
      retryAttempts: STREAM_RETRIES_MAX,
      maxRecordAge: Duration.hours(STREAM_RECORD_AGE_HOURS_MAX),
      onFailure: { bind: () => ({ destination: failures.queueArn }) },
      filters: STREAM_FILTERS.map(pattern => FilterCriteria.filter(pattern)),
    })
  }
}
