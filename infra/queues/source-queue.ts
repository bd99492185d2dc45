import { Duration } from 'aws-cdk-lib'
import { EventSourceMapping, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { MESSAGE_LIFE_MS } from '../../shared/core/bounds.ts'
import { BatonError } from '../../shared/core/errors.ts'
import { MAPPING_CONCURRENCY_MIN, MESSAGE_BYTES_MAX, QUEUE_BATCH_SIZE, RECEIVES_MAX } from '../bounds.ts'
import { watchDeadLetters } from '../monitoring/alarms.ts'
import { allow, type Grantee } from '../permissions/permissions.ts'
import type { Settings } from '../settings.ts'

/** A visibility timeout of six function timeouts lets Lambda retry a throttled batch. Source: Lambda with SQS. */
const TIMEOUTS_PER_VISIBILITY = 6
/** The longest retention that SQS has. Source: SQS quotas. */
const DEAD_LETTER_RETENTION_DAYS = 14

type SourceQueueSpec = {
  /** The physical name, if functions must derive it. @default generated */
  readonly queueName?: string
  /** How long a received message stays hidden from other receivers. */
  readonly visibilityTimeout: Duration
}

export type MappingOptions = {
  /** Messages per invocation, at most 10. @default 10 */
  readonly batchSize?: number
  /** Concurrent invocations, 2–1,000. */
  readonly maxConcurrency: number
}

/** The visibility timeout of a queue that feeds a function. */
export function visibilityFor(functionTimeout: Duration): Duration {
  return Duration.seconds(functionTimeout.toSeconds() * TIMEOUTS_PER_VISIBILITY)
}

/**
 * Returns the concurrent batches of one of the system's functions: the usual number, or its reserved concurrency if that is less.
 *
 * @throws BatonError `invalid` when the reservation is below the minimum of a mapping.
 */
export function concurrencyWithin(name: string, usual: number, reserved: number | undefined): number {
  if (reserved === undefined) return usual
  if (Number.isInteger(reserved) && reserved >= MAPPING_CONCURRENCY_MIN) return Math.min(usual, reserved)
  throw new BatonError(
    'invalid',
    `reservedConcurrency.${name} is ${reserved}; give a whole number of ${MAPPING_CONCURRENCY_MIN} or more`,
  )
}

/** A queue that feeds a function or workers. It gives its messages up to the system's dead-letter queue. */
export class SourceQueue extends Construct {
  readonly queue: Queue
  /** The dead-letter queue of the system. All queues share it. */
  readonly deadLetterQueue: Queue

  constructor(scope: Construct, id: string, deadLetters: DeadLetterQueue, spec: SourceQueueSpec) {
    super(scope, id)
    this.deadLetterQueue = deadLetters.queue
    this.queue = new Queue(this, 'Queue', {
      ...(spec.queueName !== undefined && { queueName: spec.queueName }),
      visibilityTimeout: spec.visibilityTimeout,
      retentionPeriod: Duration.millis(MESSAGE_LIFE_MS),
      maxMessageSizeBytes: MESSAGE_BYTES_MAX,
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount: RECEIVES_MAX },
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
    })
  }

  /**
   * Invokes `fn` with batches of messages. There is no batching window, so no message waits for a fuller batch.
   *
   * @throws BatonError `invalid` when the batch size is not 1–10.
   */
  feed(
    fn: LambdaFunction,
    { batchSize = QUEUE_BATCH_SIZE, maxConcurrency }: MappingOptions,
  ): EventSourceMapping {
    if (batchSize < 1 || batchSize > QUEUE_BATCH_SIZE) {
      throw new BatonError('invalid', `batchSize is ${batchSize}; give 1–${QUEUE_BATCH_SIZE}`)
    }
    this.queue.grantConsumeMessages(fn)
    return new EventSourceMapping(this, 'Mapping', {
      target: fn,
      eventSourceArn: this.queue.queueArn,
      batchSize,
      maxConcurrency,
      reportBatchItemFailures: true,
    })
  }
}

/**
 * The one queue for messages that were given up: by the queues, by the planner's mapping and by EventBridge Scheduler. The sweeper moves
 * them into the table every minute. Each arrival raises an alarm.
 */
export class DeadLetterQueue extends Construct {
  readonly queue: Queue

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id)
    this.queue = new Queue(this, 'Queue', {
      retentionPeriod: Duration.days(DEAD_LETTER_RETENTION_DAYS),
      maxMessageSizeBytes: MESSAGE_BYTES_MAX,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
    })
    watchDeadLetters(this, settings, this.queue)
  }

  /** Allows `grantee` to empty the queue, and sets the variable that names it. */
  openTo(grantee: Grantee): void {
    allow(grantee, {
      actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage'],
      resources: [this.queue.queueArn],
      environment: { BATON_DEAD_LETTER_QUEUE_URL: this.queue.queueUrl },
    })
  }
}
