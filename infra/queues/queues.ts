/**
 * The SQS queues of a system. Each is a `source-queue.ts`, and all of them share one queue of dead letters. This file names the
 * queues and grants their use. It also holds the EventBridge schedules for messages that are due later than an SQS delay reaches
 * (15 minutes).
 */

import { Duration, Stack } from 'aws-cdk-lib'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { queueNameOf } from '../../shared/core/types/task-type.ts'
import { JOBS_TIMEOUT_S, WAKER_TIMEOUT_S } from '../bounds.ts'
import { allow, type Grantee, type Permission } from '../permissions/permissions.ts'
import type { Settings } from '../settings.ts'
import { DeadLetterQueue, SourceQueue, visibilityFor } from './source-queue.ts'

type MessageUse = {
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

/**
 * The group of the system's EventBridge schedules, and what these need: a role that may send to the wake queue, and the
 * dead-letter queue for undelivered messages. Deleting the group deletes the schedules in it.
 */
export class FarTimers extends Construct {
  readonly group: CfnScheduleGroup
  readonly undelivered: IQueue
  private readonly wakeQueue: IQueue
  private readonly role: Role

  constructor(scope: Construct, id: string, { wake, deadLetters }: Messages) {
    super(scope, id)
    this.wakeQueue = wake.queue
    this.group = new CfnScheduleGroup(this, 'Group')
    this.undelivered = deadLetters.queue
    this.role = this.createRole('Role')
    allowSending(this.role, this.wakeQueue)
  }

  /** Creates a role that only schedules of this group can assume. It may send to the dead-letter queue. */
  createRole(id: string, scope: Construct = this): Role {
    const role = new Role(scope, id, {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: {
          StringEquals: { 'aws:SourceAccount': Stack.of(this).account, 'aws:SourceArn': this.group.attrArn },
        },
      }),
    })
    allowSending(role, this.undelivered)
    return role
  }

  /** Grants `fn` to create one-time schedules in the group. */
  openTo(fn: LambdaFunction): void {
    const { roleArn } = this.role
    allow(fn, {
      actions: ['scheduler:CreateSchedule'],
      resources: [
        Stack.of(this).formatArn({
          service: 'scheduler',
          resource: 'schedule',
          resourceName: `${this.group.ref}/*`,
        }),
      ],
      environment: {
        BATON_SCHEDULE_GROUP: this.group.ref,
        BATON_WAKE_QUEUE_ARN: this.wakeQueue.queueArn,
        BATON_SCHEDULE_DLQ_ARN: this.undelivered.queueArn,
      },
    })
    allow(fn, {
      actions: ['iam:PassRole'],
      resources: [roleArn],
      conditions: { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } },
      environment: { BATON_SCHEDULE_ROLE_ARN: roleArn },
    })
  }
}

function allowSending(role: Role, { queueArn }: IQueue): void {
  role.addToPolicy(new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [queueArn] }))
}
