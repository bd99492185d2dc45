import { Duration } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { EventSourceMapping, FilterCriteria, StartingPosition } from 'aws-cdk-lib/aws-lambda'
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler'
import { Construct } from 'constructs'
import { STREAM_FILTERS } from '../../shared/aws/dynamo/keys.ts'
import { watchInvocations, watchIteratorAge, watchTasks } from '../alarms.ts'
import { JOBS_TIMEOUT_S, WAKER_TIMEOUT_S } from '../bounds.ts'
import { systemCode } from '../bundling/bundling.ts'
import { allow } from '../permissions/permissions.ts'
import { concurrencyWithin, EVERY_QUEUE, type FarTimers, type Parts } from '../queues.ts'
import { MACHINERY_ACCESS, PUBLISHER_ACCESS } from '../task-table.ts'
import { createFunction } from './functions.ts'

const PLANNER_TIMEOUT_S = 60
/** The sweeper's rounds begin every minute and must not overlap. */
const SWEEPER_TIMEOUT_S = 50
const WAKER_CONCURRENCY_MAX = 50
/** Concurrent long jobs. They are not urgent, so few of them share the table's capacity and the account's executions. */
const JOBS_CONCURRENCY_MAX = 5

const STREAM_BATCH_SIZE = 100
/** Lambda tries a record again until its age ends that: an outage of the table or of SQS must lose no record. */
const STREAM_RETRIES_MAX = -1
/**
 * Concurrent batches of one shard. Lambda keeps the records of an item in order. A shard has at most 1,000 records a second, which
 * keep one batch at a time busy for 70–80 % of it. Source: Lambda with DynamoDB, ParallelizationFactor (1–10).
 */
const STREAM_PARALLELIZATION = 2
/**
 * Half of the 24 h for which a stream keeps records. Lambda thus gives up on a blocked shard before records are lost. Source:
 * DynamoDB Streams.
 */
const STREAM_RECORD_AGE_HOURS_MAX = 12

/** Few retries suffice: the next round of the sweeper begins within a minute. */
const SWEEP_RETRIES_MAX = 3
/** The shortest event age that Scheduler accepts. Source: EventBridge Scheduler, RetryPolicy. */
const SWEEP_EVENT_AGE_S_MAX = 60

export type PlannerProps = {
  /** Concurrent batches of each shard of the stream, 1–10. Changes of one task stay in order. @default 2 */
  readonly parallelization?: number
  /** Megabytes, 128–10,240. With more memory the function has more processor time. @default 512 */
  readonly memorySize?: number
}

/**
 * The function that reads the table's stream. It sends what each changed task needs next, publishes owed callbacks, and publishes events.
 */
export class Planner extends Construct {
  constructor(
    scope: Construct,
    id: string,
    parts: Parts,
    { parallelization, memorySize }: PlannerProps,
    reservedConcurrency?: number,
  ) {
    super(scope, id)
    const { settings, table, messages, timers, events } = parts
    const fn = createFunction(this, settings, {
      code: systemCode(this, 'planner'),
      description: 'Baton: sends what changed tasks need next',
      timeout: Duration.seconds(PLANNER_TIMEOUT_S),
      memorySize,
      reservedConcurrency,
    })
    table.openTo(fn, PUBLISHER_ACCESS)
    messages.openTo(fn, EVERY_QUEUE)
    timers.openTo(fn)
    events.openTo(fn)
    this.readStream(fn, parts, parallelization)
    watchIteratorAge(this, settings, fn)
    watchTasks(this, settings, 'NeedsAttention')
  }

  /**
   * The mapping takes minutes to begin. It reads from the start of the stream, so that it misses no record from before. Lambda tries a
   * failing batch again for 12 hours, so the function itself skips a record that no retry can serve. Lambda reports a batch that it
   * gives up only by its position in the stream. The sweeper repairs from the table itself.
   */
  private readStream(
    fn: LambdaFunction,
    { messages, table }: Parts,
    parallelizationFactor = STREAM_PARALLELIZATION,
  ): void {
    const failures = messages.deadLetters.queue
    allow(fn, { actions: ['sqs:SendMessage'], resources: [failures.queueArn] })
    table.openStreamTo(fn)
    new EventSourceMapping(this, 'Mapping', {
      target: fn,
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

/**
 * The function that serves the wake queue. It looks at tasks when a lease, a timeout or a deadline ends. It also dispatches
 * tasks that were due further ahead than an SQS delay reaches (15 minutes).
 */
export class Waker extends Construct {
  constructor(scope: Construct, id: string, parts: Parts, reservedConcurrency?: number) {
    super(scope, id)
    const { settings, table, messages, events } = parts
    const fn = createFunction(this, settings, {
      code: systemCode(this, 'waker'),
      description: 'Baton: looks at tasks and dispatches them when they are due',
      timeout: Duration.seconds(WAKER_TIMEOUT_S),
      // The waker sends a look that arrives too early again, once per lease of a long run. The message counts these hops.
      allowRecursion: true,
      reservedConcurrency,
    })
    table.openTo(fn, MACHINERY_ACCESS)
    messages.openTo(fn, { ...EVERY_QUEUE, measures: ['types'] })
    // The planner sends events that it could not publish to the wake queue.
    events.openTo(fn)
    watchTasks(this, settings, 'LookLoop')
    messages.wake.feed(fn, {
      maxConcurrency: concurrencyWithin('waker', WAKER_CONCURRENCY_MAX, reservedConcurrency),
    })
  }
}

/** The function that repairs, every minute, what lost messages have left behind. It also collects the messages that were given up. */
export class Sweeper extends Construct {
  constructor(scope: Construct, id: string, parts: Parts, reservedConcurrency?: number) {
    super(scope, id)
    const { settings, table, messages, timers } = parts
    const fn = createFunction(this, settings, {
      code: systemCode(this, 'sweeper'),
      description: 'Baton: repairs what lost messages left behind',
      timeout: Duration.seconds(SWEEPER_TIMEOUT_S),
      failsSilently: true,
      reservedConcurrency,
    })
    // A failed round is not retried: the next round begins within a minute and would overlap with the retry.
    fn.configureAsyncInvoke({
      retryAttempts: 0,
      maxEventAge: Duration.seconds(SWEEP_EVENT_AGE_S_MAX),
    })
    table.openTo(fn, MACHINERY_ACCESS)
    messages.openTo(fn, { ...EVERY_QUEUE, measures: ['types', 'jobs'] })
    messages.deadLetters.openTo(fn)
    timers.openTo(fn)
    this.scheduleRounds(fn, timers)
    watchInvocations(this, settings, fn)
    watchTasks(this, settings, 'Stuck')
  }

  private scheduleRounds(fn: LambdaFunction, timers: FarTimers): void {
    const role = timers.createRole('ScheduleRole', this)
    role.addToPolicy(new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [fn.functionArn] }))
    const schedule = new CfnSchedule(this, 'Schedule', {
      groupName: timers.group.ref,
      scheduleExpression: 'rate(1 minute)',
      flexibleTimeWindow: { mode: 'OFF' },
      target: {
        arn: fn.functionArn,
        roleArn: role.roleArn,
        retryPolicy: {
          maximumRetryAttempts: SWEEP_RETRIES_MAX,
          maximumEventAgeInSeconds: SWEEP_EVENT_AGE_S_MAX,
        },
        deadLetterConfig: { arn: timers.undelivered.queueArn },
      },
    })
    schedule.node.addDependency(role)
  }
}

/** The function for work that may take minutes: resumes, changes of limits and order, purges, bulk operations, large canvases. */
export class Jobs extends Construct {
  constructor(scope: Construct, id: string, parts: Parts, reservedConcurrency?: number) {
    super(scope, id)
    const { settings, table, messages } = parts
    const fn = createFunction(this, settings, {
      code: systemCode(this, 'jobs'),
      description: 'Baton: works on long jobs: resumes, purges, bulk operations, large canvases',
      timeout: Duration.seconds(JOBS_TIMEOUT_S),
      // A job sends a message to continue itself. A purge of a million tasks takes more than 16 of them.
      allowRecursion: true,
      reservedConcurrency,
    })
    table.openTo(fn, MACHINERY_ACCESS)
    messages.openTo(fn, EVERY_QUEUE)
    messages.jobs.feed(fn, {
      maxConcurrency: concurrencyWithin('jobs', JOBS_CONCURRENCY_MAX, reservedConcurrency),
    })
  }
}
