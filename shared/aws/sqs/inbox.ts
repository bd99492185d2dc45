import type { Message, SQSClient } from '@aws-sdk/client-sqs'
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs'
import { BatonError } from '../../core/values/values.ts'
import type { Clock, Log } from '../../ports/machine.ts'
import type { Delivery, Inbox, TaskCodec } from '../../ports/messages.ts'
import { isMissingQueue, type QueueNames, urlOf } from './messages.ts'
import type { DispatchReader } from './read-dispatch.ts'
import { encodeDispatch } from './wire.ts'

/** The longest wait of a receive. Source: SQS, long polling. */
const RECEIVE_WAIT_S_MAX = 20
/** The pause after a request to a queue that is not deployed yet. */
const MISSING_QUEUE_PAUSE_MS = 10_000

type Tools = {
  readonly log: Log
  readonly clock: Clock
  readonly codec: TaskCodec
  readonly readDispatch: DispatchReader
}

/**
 * Receives dispatches from the queues of the types. To put one back, the inbox sends a copy and deletes the original. A dispatch
 * that is made visible again counts as received once more, and would end in the dead-letter queue without a fault.
 */
export function createSqsInbox(sqs: SQSClient, names: QueueNames, tools: Tools): Inbox {
  return {
    receive: async (type, { max, waitMs }, signal) => {
      const url = urlOf(names, type)
      const request = new ReceiveMessageCommand({
        QueueUrl: url,
        MaxNumberOfMessages: max,
        WaitTimeSeconds: Math.min(RECEIVE_WAIT_S_MAX, Math.ceil(waitMs / 1_000)),
      })
      try {
        const { Messages = [] } = await sqs.send(request, { ...(signal && { abortSignal: signal }) })
        const read = await Promise.all(Messages.map(message => deliveryOf(sqs, url, message, tools)))
        return read.flat()
      } catch (cause) {
        if (signal?.aborted) return []
        if (!isMissingQueue(cause)) throw new BatonError('unavailable', `no answer from ${url}`, { cause })
        await tools.clock.sleep(Math.min(waitMs, MISSING_QUEUE_PAUSE_MS), signal)
        return []
      }
    },
  }
}

/**
 * The delivery of a message; none when it cannot be read. A message that can never be read is deleted, and the sweeper sends a
 * fresh dispatch if its task is open. A message that cannot be read now stays in the queue, which delivers it again.
 */
async function deliveryOf(
  sqs: SQSClient,
  url: string,
  { Body, MessageId, ReceiptHandle }: Message,
  { log, codec, readDispatch }: Tools,
): Promise<Delivery[]> {
  const done = async () => {
    await sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }))
  }
  const dispatch = await readDispatch(Body ?? '').catch(error => {
    log.warn('a dispatch cannot be read now; SQS delivers it again', {
      error,
      messageId: MessageId,
    })
    return 'later' as const
  })
  if (dispatch === 'later') return []
  if (!dispatch) {
    await done()
    return []
  }
  const putBack = async (delaySeconds: number, passedOn = dispatch.passedOn) => {
    const MessageBody = encodeDispatch(codec, { task: dispatch.task, passedOn })
    await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody, DelaySeconds: delaySeconds }))
    await done()
  }
  return [{ ...dispatch, done, putBack }]
}
