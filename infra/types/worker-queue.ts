import { Duration } from 'aws-cdk-lib'
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { WORKER_VISIBILITY_S } from '../../shared/core/bounds.ts'
import { queueNameOf } from '../../shared/core/types/queue-name.ts'
import type { Parts } from '../parts.ts'
import { SourceQueue } from '../queues/fed-queue.ts'
import { readDefinition, refuseHttp, withEvents } from './definition.ts'
import type { TypeRegistrar } from './types.ts'

export type WorkerQueueProps = {
  /** The file that exports the task's definition, relative to the working directory. */
  readonly entry: string
  /** The name under which `entry` exports it, when it exports several. */
  readonly task?: string
  /** Whether what happens to its tasks is told on the system's event bus. @default what the definition says, else false */
  readonly events?: boolean
}

/**
 * What a type needs to be served by workers that run anywhere: its queue with a dead-letter queue, and its
 * registration. Workers delete a message once they have claimed its task, so that runs may take hours.
 */
export class WorkerQueue extends Construct {
  readonly type: string
  readonly queue: Queue
  readonly deadLetterQueue: Queue

  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar, props: WorkerQueueProps) {
    super(scope, id)
    const definition = withEvents(readDefinition(props.entry, props.task), props.events)
    refuseHttp(definition)
    this.type = definition.type
    const fed = new SourceQueue(this, 'Tasks', parts.settings, {
      queueName: queueNameOf(parts.settings.system, this.type),
      visibilityTimeout: Duration.seconds(WORKER_VISIBILITY_S),
    })
    this.queue = fed.queue
    this.deadLetterQueue = fed.deadLetterQueue
    registrar
      .register(this, 'Registration', definition, { servedBy: 'workers' })
      .node.addDependency(this.queue)
  }

  /** Tasks that wait in the queue to be claimed at once. */
  metricBacklog(): Metric {
    return this.queue.metricApproximateNumberOfMessagesVisible()
  }
}
