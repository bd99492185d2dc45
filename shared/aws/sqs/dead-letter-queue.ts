import {
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs'
import { type ReplayQueue, typeOfQueue } from '../../core/dead-letters/dead-letters.ts'
import { BatonError } from '../../core/errors.ts'
import { cut } from '../../core/task-error/task-error.ts'
import { defined } from '../../core/values/json.ts'
import { groupBy } from '../../core/values/records.ts'
import type {
  ArrivedLetter,
  DeadLetterQueue,
  Resender,
  SendFailure,
  TaskCodec,
} from '../../ports/messages.ts'
import { queueOfLetter, readLetter, type SourceNames } from './letter-subject.ts'
import { jobsQueueOf, type Outgoing, type QueueNames, sendAll, urlOf } from './messages.ts'
import { freshBody } from './wire.ts'

/** SQS delivers up to 10 messages at once. Source: SQS quotas. */
const RECEIVED_MAX = 10
/** Text of an error that a service has put beside a message. */
const ERROR_CHARACTERS_MAX = 500

/** A message with the handle by which it is removed. */
type ReceivedLetter = ArrivedLetter & { readonly receipt: string }

/**
 * Receives from the queue of all dead letters. A receive does not wait, so SQS asks only some of its servers and may miss a message. It
 * costs the same when it finds nothing, and the sweeper asks again within a minute.
 */
export function createSqsDeadLetterQueue(
  sqs: SQSClient,
  {
    queueUrl,
    names,
    codec,
  }: { readonly queueUrl: string; readonly names: QueueNames; readonly codec: TaskCodec },
): DeadLetterQueue {
  const sources = sourcesIn(names)
  return {
    receive: async () => {
      const request = new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: RECEIVED_MAX,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      })
      const { Messages = [] } = await answered(queueUrl, sqs.send(request))
      return Promise.all(Messages.map(message => letterOf(message, codec, sources)))
    },
    remove: async letters => {
      if (letters.length === 0) return
      const Entries = letters.map((letter, index) => ({
        Id: String(index),
        ReceiptHandle: (letter as ReceivedLetter).receipt,
      }))
      const { Failed = [] } = await answered(
        queueUrl,
        sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries })),
      )
      if (Failed.length > 0) throw unavailable(queueUrl, Failed[0]?.Message)
    },
  }
}

function sourcesIn({ system, wakeQueueUrl, jobsQueueUrl }: QueueNames): SourceNames {
  return {
    system,
    wake: lastSegment(wakeQueueUrl, '/'),
    ...(jobsQueueUrl && { jobs: lastSegment(jobsQueueUrl, '/') }),
  }
}

function lastSegment(text: string, separator: string): string {
  return text.slice(text.lastIndexOf(separator) + 1)
}

async function letterOf(message: Message, codec: TaskCodec, sources: SourceNames): Promise<ReceivedLetter> {
  const { Body = '', MessageId = '', ReceiptHandle = '', Attributes = {}, MessageAttributes = {} } = message
  const arn = Attributes.DeadLetterQueueSourceArn
  const source = arn === undefined ? undefined : lastSegment(arn, ':')
  const read = await readLetter(codec, Body)
  // Scheduler says beside the message why it could not deliver it. Source: EventBridge Scheduler, dead-letter queues.
  const { ERROR_CODE, ERROR_MESSAGE } = MessageAttributes
  const texts = [ERROR_CODE?.StringValue, ERROR_MESSAGE?.StringValue].filter(text => text !== undefined)
  const isFromScheduler = source === undefined && texts.length > 0
  const error = texts.length > 0 ? cut(texts.join(': '), ERROR_CHARACTERS_MAX) : read.error
  const queue = isFromScheduler ? 'schedules' : queueOfLetter(read, source, sources)
  // The present delivery, from the dead-letter queue, counts too.
  const receives = Math.max(0, Number(Attributes.ApproximateReceiveCount ?? 1) - 1)
  return {
    messageId: MessageId,
    queue,
    subject: read.subject,
    body: Body,
    sentAt: Number(Attributes.SentTimestamp ?? 0),
    receives: queue === 'stream' || queue === 'schedules' ? 0 : receives,
    receipt: ReceiptHandle,
    ...defined({ error }),
  }
}

async function answered<T>(queueUrl: string, request: Promise<T>): Promise<T> {
  return request.catch(cause => {
    throw unavailable(queueUrl, cause)
  })
}

function unavailable(queueUrl: string, cause: unknown): BatonError {
  return new BatonError('unavailable', `no answer from ${queueUrl}`, { cause })
}

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
