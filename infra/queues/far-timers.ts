import { Stack } from 'aws-cdk-lib'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { allow } from '../permissions/permissions.ts'
import type { Messages } from './queues.ts'

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
