import {
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs'
import { BatonError } from '../../core/errors.ts'
import { isTask } from '../../core/task/head.ts'
import type { Task } from '../../core/task/task.ts'
import type { Clock, Log } from '../../ports/machine.ts'
import type { Delivery, Inbox, TaskCodec } from '../../ports/messages.ts'
import type { TaskStore } from '../../ports/stores.ts'
import { isMissingQueue, type QueueNames, urlOf } from './messages.ts'
import { type DecodedDispatch, decodeDispatch, encodeDispatch } from './wire.ts'

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

/** A dispatch with its task. */
type ReadDispatch = { readonly task: Task } & Pick<DecodedDispatch, 'passedOn' | 'hops' | 'freed'>

/**
 * Reads the body of a dispatch. Undefined when it can never be read.
 *
 * @throws BatonError when it cannot be read now: the store does not answer, or newer code has written the task.
 */
export type DispatchReader = (body: string) => Promise<ReadDispatch | undefined>

/**
 * Creates a reader of dispatches. Queues keep a message for up to four days, and code is deployed meanwhile. When a dispatch has
 * the form of another version, the reader does not guess at it, but reads the head from the table by the id. In any case a claim
 * succeeds only on the present revision.
 */
export function createDispatchReader(from: {
  readonly codec: TaskCodec
  readonly tasks: Pick<TaskStore, 'head'>
  readonly log: Log
}): DispatchReader {
  const { log, tasks } = from
  return async body => {
    const dispatch = decoded(log, body)
    if (!dispatch) return undefined
    const { id, form: _form, ...chain } = dispatch
    const carried = await taskCarried(from, dispatch)
    const head = carried ?? (await tasks.head(id))
    const task = head && isTask(head) ? head : undefined
    if (!task) log.info('dropped a dispatch of a task that does not exist', { taskId: id })
    return task && { task, ...chain }
  }
}

function decoded(log: Log, body: string): DecodedDispatch | undefined {
  try {
    return decodeDispatch(body)
  } catch (error) {
    log.error('dropped a dispatch that cannot be read', { error })
    return undefined
  }
}

/** The task that the message carries; undefined when this code does not know its form. */
async function taskCarried(
  { codec, log }: { readonly codec: TaskCodec; readonly log: Log },
  { id, form }: DecodedDispatch,
): Promise<Task | undefined> {
  if (form === undefined) return undefined
  try {
    const task = await codec.decode(form)
    return task.id === id ? task : undefined
  } catch (error) {
    if (error instanceof BatonError && error.code === 'unavailable') throw error
    log.info('read a task from the table because its dispatch has the form of another version', {
      taskId: id,
      error,
    })
    return undefined
  }
}
