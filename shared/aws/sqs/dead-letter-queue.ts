import type { Message, SQSClient } from '@aws-sdk/client-sqs'
import { DeleteMessageBatchCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import type { LetterQueue, LetterSubject, ReplayQueue } from '../../core/dead-letters.ts'
import { typeOfQueue, typeQueue } from '../../core/dead-letters.ts'
import { minuteStart } from '../../core/place/place.ts'
import { workOf } from '../../core/task/piece.ts'
import { splitTaskId, type Task } from '../../core/task/task.ts'
import { cut } from '../../core/task-error/task-error.ts'
import { queueNameOf, servingType } from '../../core/types/task-type.ts'
import { BatonError, defined, groupBy } from '../../core/values/values.ts'
import type {
  ArrivedLetter,
  DeadLetterQueue,
  Resender,
  SendFailure,
  TaskCodec,
  Wake,
} from '../../ports/messages.ts'
import { jobsQueueOf, type Outgoing, type QueueNames, sendAll, urlOf } from './messages.ts'
import { type DecodedDispatch, decodeDispatch, decodeWake, freshBody } from './wire.ts'

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

/** What is known of a message: what it was about, and the type whose workers were to take the task. */
type ReadLetter = {
  readonly subject: LetterSubject
  readonly servingType?: string
  readonly error?: string
}

/** Reads the body of a dead letter. A body of any kind has a subject, so that no message is lost. */
export async function readLetter(codec: TaskCodec, body: string): Promise<ReadLetter> {
  const content = objectIn(body)
  if (content.source === 'aws.scheduler' || body.trim() === '{}') return { subject: { kind: 'round' } }
  try {
    if ('DDBStreamBatchInfo' in content) return changesIn(content as StreamFailure)
    return 'kind' in content ? { subject: wakeSubject(body) } : await dispatchIn(codec, decodeDispatch(body))
  } catch {
    return { subject: { kind: 'unreadable' } }
  }
}

function objectIn(body: string): Readonly<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(body)
    return typeof content === 'object' && content !== null ? (content as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** What Lambda sends about a batch that it gave up. Source: Lambda with DynamoDB, on-failure destinations. */
type StreamFailure = {
  readonly requestContext?: { readonly condition?: string; readonly approximateInvokeCount?: number }
  readonly DDBStreamBatchInfo?: { readonly shardId?: string; readonly batchSize?: number }
}

function changesIn({ requestContext = {}, DDBStreamBatchInfo = {} }: StreamFailure): ReadLetter {
  const { shardId = '', batchSize = 0 } = DDBStreamBatchInfo
  const { condition, approximateInvokeCount: tries } = requestContext
  const error = condition && (tries === undefined ? condition : `${condition} after ${tries} invocations`)
  return { subject: { kind: 'changes', count: batchSize, shardId }, ...defined({ error }) }
}

async function dispatchIn(codec: TaskCodec, { id, form }: DecodedDispatch): Promise<ReadLetter> {
  const task = await taskIn(codec, form)
  if (!task)
    return { subject: { kind: 'dispatch', taskId: id }, ...defined({ servingType: splitTaskId(id)?.type }) }
  const { type, kind } = workOf(task)
  const { born, revision } = task
  return { subject: { kind: 'dispatch', taskId: id, born, revision }, servingType: servingType(type, kind) }
}

/** The task in a dispatch. Undefined when it has the form of another version, or when the table does not answer. */
async function taskIn(codec: TaskCodec, form: unknown): Promise<Task | undefined> {
  if (form === undefined) return undefined
  return codec.decode(form).catch(() => undefined)
}

function wakeSubject(body: string): LetterSubject {
  const message = decodeWake(body)
  if (message.kind !== 'events') return subjectOfWake(message)
  const { events } = message.late
  const taskId = events.map(event => event.taskId).find(id => id !== undefined)
  return { kind: 'events', count: events.length, ...defined({ taskId }) }
}

function subjectOfWake(wake: Wake): LetterSubject {
  switch (wake.kind) {
    case 'look':
      return { kind: 'look', taskId: wake.look.id, born: wake.look.born, revision: wake.look.revision }
    case 'minute':
      return { kind: 'minute', dueAt: minuteStart(wake.minute) }
    case 'minute-shard':
      return { kind: 'minute', dueAt: minuteStart(wake.look.minute) }
    case 'canvas':
      return { kind: 'canvas', canvasId: wake.look.id }
    case 'job':
      return { kind: 'job', type: wake.look.type, job: wake.look.job.kind }
    case 'limit':
      return { kind: 'limit', limit: wake.look.line.limit }
  }
}

/** The names of the queues that give messages up. */
export type SourceNames = { readonly system: string; readonly wake: string; readonly jobs?: string }

const QUEUE_OF_KIND: Readonly<Record<Exclude<LetterSubject['kind'], 'dispatch'>, LetterQueue>> = {
  look: 'wake',
  limit: 'wake',
  minute: 'wake',
  events: 'wake',
  canvas: 'jobs',
  job: 'jobs',
  changes: 'stream',
  round: 'schedules',
  unreadable: 'unknown',
}

/**
 * The queue that gave a message up. SQS names it for the messages that it moved itself (`source`). Without a name, the message came
 * from a service, or SQS does not tell: then it follows from the subject.
 */
export function queueOfLetter(
  { subject, servingType: type }: ReadLetter,
  source: string | undefined,
  { system, wake, jobs }: SourceNames,
): LetterQueue {
  if (source === wake) return 'wake'
  if (source !== undefined && source === jobs) return 'jobs'
  if (subject.kind !== 'dispatch')
    return source === undefined ? QUEUE_OF_KIND[subject.kind] : plainQueue(system, source)
  if (type !== undefined && (source === undefined || queueNameOf(system, type) === source))
    return typeQueue(type)
  return source === undefined ? 'unknown' : plainQueue(system, source)
}

/** The type's queue of this name. A name that ends in a hash does not tell its type. */
function plainQueue(system: string, name: string): LetterQueue {
  const prefix = queueNameOf(system, '')
  const type = name.slice(prefix.length)
  return name.startsWith(prefix) && queueNameOf(system, type) === name ? typeQueue(type) : 'unknown'
}
