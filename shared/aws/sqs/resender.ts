import type { SQSClient } from '@aws-sdk/client-sqs'
import { type ReplayQueue, typeOfQueue } from '../../core/dead-letters/dead-letters.ts'
import { groupBy } from '../../core/values/group-by.ts'
import type { Resender, SendFailure } from '../../ports/messages.ts'
import { jobsQueueOf, type Outgoing, type QueueNames, sendAll, urlOf } from './messages.ts'
import { freshBody } from './wire.ts'

/** Sends the bodies of dead letters over SQS to the queues that gave them up. */
export function createSqsResender(sqs: SQSClient, names: QueueNames): Resender {
  return {
    sendAgain: async letters => {
      const byUrl = groupBy(
        letters.map(({ queue, body }, index) => ({ queue, index, body: freshBody(body), delaySeconds: 0 })),
        ({ queue }) => urlOfReplay(names, queue),
      )
      const sent = [...byUrl].map(([url, group]) => sendAll(sqs, url, group, missing))
      return (await Promise.all(sent)).flat()
    },
  }
}

function urlOfReplay(names: QueueNames, queue: ReplayQueue): string {
  if (queue === 'wake') return names.wakeQueueUrl
  return queue === 'jobs' ? jobsQueueOf(names) : urlOf(names, typeOfQueue(queue) ?? '')
}

function missing(batch: readonly Outgoing[]): SendFailure[] {
  return batch.map(({ index }) => ({
    index,
    reason: 'its queue does not exist any more',
    transient: false,
  }))
}
