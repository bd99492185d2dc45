import { Duration } from 'aws-cdk-lib'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { DEAD_LETTER_RETENTION_DAYS, MESSAGE_BYTES_MAX } from '../bounds.ts'
import { watchDeadLetters } from '../monitoring/alarms.ts'
import { allow, type Grantee } from '../permissions/permissions.ts'
import type { Settings } from '../settings.ts'

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
