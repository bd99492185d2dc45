import { Duration } from 'aws-cdk-lib'
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { WORKER_VISIBILITY_S } from '../../shared/core/bounds.ts'
import { queueNameOf } from '../../shared/core/types/queue-name.ts'
import type { BundlingProps } from '../bundling/options.ts'
import type { Parts } from '../parts.ts'
import { SourceQueue } from '../queues/source-queue.ts'
import { readDefinition, refuseHttp, withProps } from './definition.ts'
import { refuseUnknown } from './refuse-props.ts'
import type { TypeRegistrar } from './types.ts'

export type WorkerQueueProps = {
  /** The file that exports the task's definition, relative to the working directory. */
  readonly entry: string
  /** The name under which `entry` exports it, when it exports several. */
  readonly task?: string
  /** Whether events of its tasks are published on the system's event bus. @default as the definition says, else false */
  readonly events?: boolean
  /** The tasks a second that the type has at its peak, as for a handler. @default 4 shards, which serve some 500 tasks a second */
  readonly expectedTasksPerSecond?: number
  /** How the file is bundled to load it. @default as a handler without options */
  readonly bundling?: BundlingProps
}

/**
 * The queue and the registration of a type that your own workers serve, wherever they run. A worker
 * deletes a message once it has claimed the task, so a run may take hours.
 */
export class WorkerQueue extends Construct {
  readonly type: string
  readonly queue: Queue
  /** The dead-letter queue of the system. All queues share it. */
  readonly deadLetterQueue: Queue

  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar, props: WorkerQueueProps) {
    super(scope, id)
    refuseUnknown(props.entry, props, ['entry', 'task', 'events', 'bundling', 'expectedTasksPerSecond'])
    const definition = withProps(readDefinition(props.entry, props.task, props.bundling), props)
    refuseHttp(definition)
    parts.table.expect(props.expectedTasksPerSecond)
    this.type = definition.type
    const source = new SourceQueue(this, 'Tasks', parts.messages.deadLetters, {
      queueName: queueNameOf(parts.settings.system, this.type),
      visibilityTimeout: Duration.seconds(WORKER_VISIBILITY_S),
    })
    this.queue = source.queue
    this.deadLetterQueue = source.deadLetterQueue
    registrar
      .register(this, 'Registration', definition, { servedBy: 'workers' })
      .node.addDependency(this.queue)
  }

  /** Returns the metric of the messages that wait in the queue. */
  metricBacklog(): Metric {
    return this.queue.metricApproximateNumberOfMessagesVisible()
  }
}
