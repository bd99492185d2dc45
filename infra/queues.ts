/**
 * How the parts of a system reach each other: its SQS queues, the EventBridge schedules for messages that are due later than an SQS
 * delay reaches (15 minutes), and its event bus. All queues share one queue of dead letters. `Parts` has what all functions share.
 */

import { Duration, Stack } from 'aws-cdk-lib'
import { EventBus } from 'aws-cdk-lib/aws-events'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { EventSourceMapping, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler'
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { MESSAGE_LIFE_MS } from '../shared/core/bounds.ts'
import { queueNameOf } from '../shared/core/types/task-type.ts'
import { defined, illegal } from '../shared/core/values/values.ts'
import { watchDeadLetters } from './alarms.ts'
import {
  JOBS_TIMEOUT_S,
  MAPPING_CONCURRENCY_MIN,
  MESSAGE_BYTES_MAX,
  QUEUE_BATCH_SIZE,
  RECEIVES_MAX,
  WAKER_TIMEOUT_S,
} from './bounds.ts'
import { allow, type Grantee, type Permission, type RolePolicies } from './permissions/permissions.ts'
import type { TypeReach } from './permissions/table-access.ts'
import type { Settings } from './settings.ts'
import type { TaskTable } from './task-table.ts'

/** The constructs and settings that all functions of one system share. */
export type Parts = {
  readonly settings: Settings
  readonly table: TaskTable
  readonly messages: Messages
  readonly timers: FarTimers
  readonly events: SystemEvents
  readonly reach: TypeReach
  readonly policies: RolePolicies
}

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

/** What most functions of the system send: looks, long jobs, and dispatches to the queue of every type. */
export const EVERY_QUEUE = { wakes: true, jobs: true, dispatchesTo: 'every-type' } as const

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
    const typesArn = dispatchesTo === 'every-type' ? this.typeQueueArns : dispatchesTo?.queueArn
    const targets = [wakes && queueArn, jobs && jobsArn, typesArn].filter(arn => typeof arn === 'string')
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
    const { ref: name } = this.group
    const { roleArn } = this.role
    allow(fn, {
      actions: ['scheduler:CreateSchedule'],
      resources: [
        Stack.of(this).formatArn({ service: 'scheduler', resource: 'schedule', resourceName: `${name}/*` }),
      ],
      environment: {
        BATON_SCHEDULE_GROUP: name,
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
  throw illegal(
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
      ...defined({ queueName: spec.queueName }),
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
      throw illegal(`batchSize is ${batchSize}; give 1–${QUEUE_BATCH_SIZE}`)
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

/** The event bus on which the system publishes what happens. A bus without events costs nothing. */
export class SystemEvents extends Construct {
  readonly bus: EventBus

  constructor(scope: Construct, id: string, { system }: Settings) {
    super(scope, id)
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: `${system}-events`,
      description: 'Baton: what happens to tasks',
    })
  }

  /** Allows `grantee` to publish events, and sets the variables that name the bus. */
  openTo(grantee: Grantee): void {
    const { eventBusArn, eventBusName } = this.bus
    allow(grantee, {
      actions: ['events:PutEvents'],
      resources: [eventBusArn],
      // With `types`, only the events of types with `events: true` are published. The local cloud publishes all events.
      environment: { BATON_EVENT_BUS: eventBusName, BATON_EVENTS: 'types' },
    })
  }
}
