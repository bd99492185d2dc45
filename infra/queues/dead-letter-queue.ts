import { Duration } from 'aws-cdk-lib'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { DEAD_LETTER_RETENTION_DAYS, MESSAGE_BYTES_MAX } from '../bounds.ts'
import { watchDeadLetters } from '../monitoring/alarms.ts'
import type { Settings } from '../settings.ts'

/** A queue for messages that were given up. SQS keeps them as long as it can, and the first one raises an alarm. */
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
}
