/**
 * The SQS queues of a system. Each is a `source-queue.ts`. All of them share one `dead-letter-queue.ts`. `far-timers.ts` holds the EventBridge
 * schedules for messages that are due later than an SQS delay reaches (15 minutes). This file names the queues and grants
 * their use.
 */

import { Duration, Stack } from 'aws-cdk-lib'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { queueNameOf } from '../../shared/core/types/queue-name.ts'
import { JOBS_TIMEOUT_S, WAKER_TIMEOUT_S } from '../bounds.ts'
import { allow, type Grantee, type Permission } from '../permissions/permissions.ts'
import type { Settings } from '../settings.ts'
import { DeadLetterQueue } from './dead-letter-queue.ts'
import { SourceQueue, visibilityFor } from './source-queue.ts'

export type MessageUse = {
  /** Sends looks to the wake queue. */
  readonly wakes?: boolean
  /** Sends long jobs to the jobs queue. */
  readonly jobs?: boolean
  /** Sends dispatches to the queue of every type, or of one. */
  readonly dispatchesTo?: 'every-type' | IQueue
  /** Asks how many messages wait in the types' queues, or in the jobs queue. */
  readonly measures?: ReadonlyArray<'types' | 'jobs'>
}

/**
 * The queues of the system: the wake queue for work that is due at a second, the jobs queue for work that may take minutes,
 * and the queues of the types, which functions find by name.
 */
export class Messages extends Construct {
  readonly deadLetters: DeadLetterQueue
  readonly wake: SourceQueue
  readonly jobs: SourceQueue
  private readonly typeQueueArns: string
  private readonly system: string

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id)
    this.system = settings.system
    this.deadLetters = new DeadLetterQueue(this, 'DeadLetters', settings)
    this.wake = new SourceQueue(this, 'Wake', this.deadLetters, {
      visibilityTimeout: visibilityFor(Duration.seconds(WAKER_TIMEOUT_S)),
    })
    this.jobs = new SourceQueue(this, 'Jobs', this.deadLetters, {
      visibilityTimeout: visibilityFor(Duration.seconds(JOBS_TIMEOUT_S)),
    })
    // The ARN is a prefix, because policies have at most 10,240 characters. Also, SQS must answer a send to the queue of a type
    // without a handler with "does not exist", not with "denied".
    this.typeQueueArns = Stack.of(this).formatArn({ service: 'sqs', resource: `${settings.system}-q-*` })
  }

  /** Grants exactly `use`, and sets the variables that name the queues. */
  openTo(grantee: Grantee, { wakes = false, jobs = false, dispatchesTo, measures = [] }: MessageUse): void {
    const { queueUrl, queueArn } = this.wake.queue
    const { queueUrl: jobsUrl, queueArn: jobsArn } = this.jobs.queue
    const targets = [...(wakes ? [queueArn] : []), ...(jobs ? [jobsArn] : []), ...this.arnsOf(dispatchesTo)]
    // Every grantee gets the URL of the wake queue: it derives the URLs of the types' queues from it.
    allow(grantee, {
      actions: ['sqs:SendMessage'],
      resources: targets,
      environment: { BATON_WAKE_QUEUE_URL: queueUrl, ...(jobs && { BATON_JOBS_QUEUE_URL: jobsUrl }) },
    })
    allow(grantee, {
      actions: ['sqs:GetQueueAttributes'],
      resources: measures.map(measured => (measured === 'types' ? this.typeQueueArns : jobsArn)),
    })
  }

  /** What a worker may do with the queues of its types: receive, and send back the tasks that it cannot run now. */
  servingOf(types: readonly string[]): Permission {
    const arns = types.map(type =>
      Stack.of(this).formatArn({ service: 'sqs', resource: queueNameOf(this.system, type) }),
    )
    return { actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:SendMessage'], resources: arns }
  }

  private arnsOf(dispatchesTo: MessageUse['dispatchesTo']): string[] {
    if (dispatchesTo === undefined) return []
    return [dispatchesTo === 'every-type' ? this.typeQueueArns : dispatchesTo.queueArn]
  }
}
