import type { SQSClient } from '@aws-sdk/client-sqs'
import type { LateEventQueue } from '../../ports/messages.ts'
import { sendAll } from './messages.ts'
import { encodeLateEvents } from './wire.ts'

/** Late events wait in the wake queue, each batch in a message of its own. */
export function createLateEventQueue(sqs: SQSClient, wakeQueueUrl: string): LateEventQueue {
  return {
    put: late => {
      const outgoing = late.map((batch, index) => ({
        index,
        body: encodeLateEvents(batch),
        delaySeconds: batch.delaySeconds,
      }))
      return sendAll(sqs, wakeQueueUrl, outgoing)
    },
  }
}
