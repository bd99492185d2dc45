import {
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs'
import { BatonError } from '../../core/errors.ts'
import type { Clock, Log } from '../../ports/machine.ts'
import type { Delivery, Inbox, TaskCodec } from '../../ports/messages.ts'
import { isMissingQueue, type QueueNames, urlOf } from './messages.ts'
import type { DispatchReader } from './read-dispatch.ts'
import { encodeDispatch } from './wire.ts'

/** The longest that SQS lets a receive wait. Source: SQS, long polling. */
const MAX_WAIT_S = 20
/** A type whose queue is not deployed yet is asked about no more often than this. */
const MISSING_QUEUE_PAUSE_MS = 10_000

type Tools = {
  readonly log: Log
  readonly clock: Clock
  readonly codec: TaskCodec
  readonly readDispatch: DispatchReader
}

/**
 * Dispatches from the queues of the types. To put one back a copy is sent and the original deleted: made visible
 * again instead, it would count as received once more and end in the dead-letter queue for no fault of its own.
 */
export function createSqsInbox(sqs: SQSClient, names: QueueNames, tools: Tools): Inbox {
  return {
    receive: async (type, { max, waitMs }, signal) => {
      const url = urlOf(names, type)
      const request = new ReceiveMessageCommand({
        QueueUrl: url,
        MaxNumberOfMessages: max,
        WaitTimeSeconds: Math.min(MAX_WAIT_S, Math.ceil(waitMs / 1_000)),
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
 * What cannot be read at all is let go; the sweeper sends a fresh dispatch. What cannot be read now comes again when the queue
 * shows it anew.
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
    log.warn('a dispatch cannot be read now, and comes again', { error, messageId: MessageId })
    return 'later' as const
  })
  if (dispatch === 'later') return []
  if (!dispatch) {
    await done()
    return []
  }
  const again = async (delaySeconds: number, passedOn = dispatch.passedOn) => {
    const MessageBody = encodeDispatch(codec, { task: dispatch.task, passedOn })
    await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody, DelaySeconds: delaySeconds }))
    await done()
  }
  return [{ ...dispatch, done, putBack: again }]
}
