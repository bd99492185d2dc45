import {
  GetQueueAttributesCommand,
  QueueDoesNotExist,
  SendMessageBatchCommand,
  SendMessageCommand,
  type SQSClient,
  SQSServiceException,
} from '@aws-sdk/client-sqs'
import { workOf } from '../../core/task/piece.ts'
import { queueNameOf, servingType } from '../../core/types/task-type.ts'
import { BatonError, groupBy, textBytes } from '../../core/values/values.ts'
import type { Dispatch, LateEventQueue, Messages, SendFailure, TaskCodec } from '../../ports/messages.ts'
import {
  encodeCanvasLook,
  encodeDispatch,
  encodeJob,
  encodeLateEvents,
  encodeLimitLook,
  encodeLook,
  encodeMinute,
} from './wire.ts'

export type QueueNames = {
  /** The prefix of the names of this system's queues. */
  readonly system: string
  readonly wakeQueueUrl: string
  /** The queue of long jobs. A process that starts no jobs, such as a worker, does not need it. */
  readonly jobsQueueUrl?: string
}

export type Outgoing = { readonly index: number; readonly body: string; readonly delaySeconds: number }

/** Sends messages over SQS to the queues of the types, to the wake queue and to the jobs queue. */
export function createSqsMessages(sqs: SQSClient, names: QueueNames, codec: TaskCodec): Messages {
  return {
    dispatch: async dispatches => {
      const outgoing = groupBy(
        dispatches.map((dispatch, index) => ({ dispatch, index })),
        ({ dispatch }) => queueUrlOf(names, dispatch.task),
      )
      const sent = [...outgoing].map(([url, group]) =>
        sendAll(
          sqs,
          url,
          group.map(one => outgoingOf(codec, one)),
        ),
      )
      return (await Promise.all(sent)).flat()
    },
    look: looks => sendWakes(sqs, names.wakeQueueUrl, looks, encodeLook),
    lookAtMinute: async look => {
      await sqs.send(
        new SendMessageCommand({ QueueUrl: names.wakeQueueUrl, MessageBody: encodeMinute(look) }),
      )
    },
    lookAtCanvases: async looks => sendWakes(sqs, jobsQueueOf(names), looks, encodeCanvasLook),
    lookAtLimits: looks => sendWakes(sqs, names.wakeQueueUrl, looks, encodeLimitLook),
    continueJobs: async looks => sendWakes(sqs, jobsQueueOf(names), looks, encodeJob),
    backlog: type => visibleMessages(sqs, urlOf(names, type)),
    waitingJobs: async () => (await visibleMessages(sqs, jobsQueueOf(names))) ?? 0,
  }
}

function sendWakes<Look extends { readonly delaySeconds: number }>(
  sqs: SQSClient,
  queueUrl: string,
  looks: readonly Look[],
  encode: (look: Look) => string,
): Promise<SendFailure[]> {
  const outgoing = looks.map((look, index) => ({
    index,
    body: encode(look),
    delaySeconds: look.delaySeconds,
  }))
  return sendAll(sqs, queueUrl, outgoing)
}

export function jobsQueueOf({ jobsQueueUrl }: QueueNames): string {
  if (jobsQueueUrl !== undefined) return jobsQueueUrl
  throw new BatonError(
    'misconfigured',
    'a long job needs the jobs queue; set BATON_JOBS_QUEUE_URL to its URL',
  )
}

function outgoingOf(
  codec: TaskCodec,
  { dispatch, index }: { readonly dispatch: Dispatch; readonly index: number },
): Outgoing {
  return { index, body: encodeDispatch(codec, dispatch), delaySeconds: dispatch.delaySeconds }
}

function queueUrlOf(names: QueueNames, task: Dispatch['task']): string {
  const { type, kind } = workOf(task)
  return urlOf(names, servingType(type, kind))
}

/** The URL of a type's queue. It differs from the URL of the wake queue only in the name at its end: same account, same region. */
export function urlOf({ system, wakeQueueUrl }: QueueNames, type: string): string {
  return wakeQueueUrl.slice(0, wakeQueueUrl.lastIndexOf('/') + 1) + queueNameOf(system, type)
}

/** What a batch to a queue that does not exist means. */
type OnMissingQueue = (batch: readonly Outgoing[]) => SendFailure[]

/** A task of a type without a handler waits for its handler, so nothing has failed. */
const noFailure: OnMissingQueue = () => []

/** Sends messages in batches. Returns the messages that were not sent, by their `index`. */
export async function sendAll(
  sqs: SQSClient,
  url: string,
  messages: readonly Outgoing[],
  onMissingQueue = noFailure,
): Promise<SendFailure[]> {
  const batches = batchesOf(messages)
  const results = await Promise.all(batches.map(batch => sendBatch(sqs, url, batch, onMissingQueue)))
  return results.flat()
}

async function sendBatch(
  sqs: SQSClient,
  url: string,
  batch: readonly Outgoing[],
  onMissingQueue: OnMissingQueue,
): Promise<SendFailure[]> {
  try {
    const answer = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: url,
        Entries: batch.map(({ body, delaySeconds }, position) => ({
          Id: String(position),
          MessageBody: body,
          DelaySeconds: delaySeconds,
        })),
      }),
    )
    return (answer.Failed ?? []).map(({ Id, Message, Code, SenderFault }) => ({
      index: batch[Number(Id)]?.index ?? 0,
      reason: Message ?? Code ?? 'not sent',
      transient: SenderFault !== true,
    }))
  } catch (error) {
    if (isMissingQueue(error)) return onMissingQueue(batch)
    return batch.map(({ index }) => ({ index, reason: String(error), transient: isTransient(error) }))
  }
}

async function visibleMessages(sqs: SQSClient, url: string): Promise<number | undefined> {
  try {
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['ApproximateNumberOfMessages'] }),
    )
    return Number(Attributes?.ApproximateNumberOfMessages ?? 0)
  } catch (error) {
    if (isMissingQueue(error)) return undefined
    throw error
  }
}

/** Whether another try may succeed. False only when the service answers that the request itself is wrong. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof SQSServiceException)) return true
  const status = error.$metadata.httpStatusCode ?? 500
  return status >= 500 || status === 429 || error.$retryable !== undefined || error.name.includes('Throttl')
}

/** Whether the queue does not exist: the type has no deployed handler. The sweeper dispatches its tasks once it has one. */
export function isMissingQueue(error: unknown): boolean {
  return (
    error instanceof QueueDoesNotExist ||
    (error instanceof Error && error.name === 'AWS.SimpleQueueService.NonExistentQueue')
  )
}

/** SQS takes 10 messages a batch. Source: SQS quotas. */
const BATCH_ENTRIES_MAX = 10
/** SQS takes 1 MiB a batch. Source: SQS quotas. The rest is a margin for the envelope. */
const BATCH_BYTES_MAX = 1_000_000

/** Splits messages, in order, into batches that SQS accepts. */
export function batchesOf<T extends { readonly body: string }>(messages: readonly T[]): T[][] {
  const batches: T[][] = []
  let bytes = 0
  for (const message of messages) {
    const size = textBytes(message.body)
    const current = batches.at(-1)
    const fits =
      current !== undefined && current.length < BATCH_ENTRIES_MAX && bytes + size <= BATCH_BYTES_MAX
    if (fits) current.push(message)
    else batches.push([message])
    bytes = fits ? bytes + size : size
  }
  return batches
}

/** Sends late events to the wake queue, each batch in a message of its own. */
export function createLateEventQueue(sqs: SQSClient, wakeQueueUrl: string): LateEventQueue {
  return { put: late => sendWakes(sqs, wakeQueueUrl, late, encodeLateEvents) }
}
