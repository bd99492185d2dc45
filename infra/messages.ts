import { Duration, Stack } from 'aws-cdk-lib'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { FedQueue, visibilityFor } from './fed-queue.ts'
import { allow, type Runner } from './grants.ts'
import { WAKER_TIMEOUT_S } from './limits.ts'
import type { Settings } from './settings.ts'

export type MessageUse = {
  /** Sends looks to the wake queue. */
  readonly wakes?: boolean
  /** Sends dispatches to the queue of every type, or of one. */
  readonly dispatchesTo?: 'every-type' | IQueue
  /** Asks for the backlog of the types' queues. */
  readonly measures?: boolean
}

/** The queues of the system: the wake queue, and those of the types, which are found by their names. */
export class Messages extends Construct {
  readonly wake: FedQueue
  private readonly typeQueueArns: string

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id)
    this.wake = new FedQueue(this, 'Wake', settings, {
      visibilityTimeout: visibilityFor(Duration.seconds(WAKER_TIMEOUT_S)),
    })
    // A prefix, because policies end at 10,240 characters, and because a send to the queue of a type without a
    // handler must be answered with "does not exist", not with "denied".
    this.typeQueueArns = Stack.of(this).formatArn({ service: 'sqs', resource: `${settings.system}-q-*` })
  }

  /** Tells `runner` where the queues are and lets it do exactly `use` with them. */
  openTo(runner: Runner, { wakes = false, dispatchesTo, measures = false }: MessageUse): void {
    const { queueUrl, queueArn } = this.wake.queue
    const targets = [...(wakes ? [queueArn] : []), ...this.arnsOf(dispatchesTo)]
    // The URL goes to all of them: those of the types' queues are made from it, by all who send or may come to.
    allow(runner, {
      actions: ['sqs:SendMessage'],
      resources: targets,
      environment: { BATON_WAKE_QUEUE_URL: queueUrl },
    })
    if (measures) allow(runner, { actions: ['sqs:GetQueueAttributes'], resources: [this.typeQueueArns] })
  }

  private arnsOf(dispatchesTo: MessageUse['dispatchesTo']): string[] {
    if (dispatchesTo === undefined) return []
    return [dispatchesTo === 'every-type' ? this.typeQueueArns : dispatchesTo.queueArn]
  }
}
