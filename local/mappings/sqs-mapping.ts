import { setTimeout as sleep } from 'node:timers/promises'
import { nameOfArn, REGION } from '../account.ts'
import { joinedTrace } from '../functions/lineage.ts'
import { type LocalFunction, RELOAD_DELAY_MS } from '../functions/local-function.ts'
import type { InvocationResult } from '../functions/sandbox.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { SqsServer } from '../stores/sqs-server.ts'
import type { Mapping, MappingState, Pattern } from './mapping.ts'
import { controlOf, newMappingState, passesFilters, readBatchFailures } from './mapping.ts'

/** The most messages of one receive. Larger batches are gathered from several receives. */
const RECEIVE_MESSAGES_MAX = 10

/** Lambda's pollers use SQS's longest wait. */
const LONG_POLL_S = 20

const PAUSE_POLL_MS = 20
const ERROR_WAIT_MS = 500

export type SqsMappingSpec = {
  readonly logicalId: string
  readonly queueArn: string
  readonly queueUrl: string
  /** How long SQS hides a received message. */
  readonly visibilityMs: number
  readonly batchSize: number
  readonly windowMs: number
  readonly concurrency: number
  readonly reportsItemFailures: boolean
  readonly filters: readonly Pattern[]
}

type Parts = { readonly gateway: Gateway; readonly sqs: SqsServer; readonly log: (line: string) => void }

type Polling = {
  readonly spec: SqsMappingSpec
  readonly target: LocalFunction
  readonly parts: Parts
  readonly queue: ReturnType<typeof openQueue>
  readonly state: MappingState
  readonly running: Set<Promise<void>>
}

/** Polls a queue and invokes a function with its messages, with at most `concurrency` concurrent batches. */
export function startSqsMapping(spec: SqsMappingSpec, target: LocalFunction, parts: Parts): Mapping {
  const { logicalId, queueArn } = spec
  const state = newMappingState()
  const queue = openQueue(spec, parts.gateway)
  const polling: Polling = { spec, target, parts, queue, state, running: new Set() }
  const wake = () => parts.sqs.wakeReceivers(nameOfArn(queueArn))
  const ended = poll(polling).then(() => 'ended' as const)
  return {
    logicalId,
    source: 'sqs',
    sourceArn: queueArn,
    functionId: target.logicalId,
    ...controlOf(state, wake),
    stop: async () => {
      state.stopped = true
      // A receive that begins just now may miss the signal, so it is repeated.
      do wake()
      while ((await Promise.race([ended, sleep(PAUSE_POLL_MS)])) !== 'ended')
      await Promise.all(polling.running)
    },
  }
}

async function poll(polling: Polling): Promise<void> {
  const { spec, target, state, running } = polling
  // Further batches would wait for a process, and their visibility timeout could end before they get one.
  const batchesMax = () => Math.min(spec.concurrency, target.maxProcesses)
  while (!state.stopped) {
    if (state.paused) await sleep(PAUSE_POLL_MS)
    else if (running.size >= batchesMax()) await Promise.race(running)
    else await startBatch(polling).catch(cause => waitAfterError(polling, cause))
  }
}

async function startBatch(polling: Polling): Promise<void> {
  const { spec, target, state, queue, running, parts } = polling
  const messages = await gather(polling)
  if (messages.length === 0) return
  const delivery = { ...spec, target, state, traceOf: parts.sqs.traceOf, remove: queue.remove }
  const delivered: Promise<void> = deliverMessages(messages, delivery)
    .catch(cause => {
      if (!state.stopped) parts.log(`${spec.logicalId} could not deliver a batch: ${cause}`)
    })
    .finally(() => running.delete(delivered))
  running.add(delivered)
}

async function gather({ spec, state, queue }: Polling): Promise<Message[]> {
  const messages = await queue.receive(spec.batchSize, LONG_POLL_S)
  const deadline = Date.now() + spec.windowMs
  const wantsMore = () => messages.length < spec.batchSize && Date.now() < deadline && !state.stopped
  while (messages.length > 0 && wantsMore()) {
    const waitS = Math.ceil((deadline - Date.now()) / 1000)
    messages.push(...(await queue.receive(spec.batchSize - messages.length, waitS)))
  }
  return messages
}

async function waitAfterError({ spec, state, parts }: Polling, cause: unknown): Promise<void> {
  if (state.stopped) return
  parts.log(`${spec.logicalId} could not poll: ${cause}`)
  await sleep(ERROR_WAIT_MS)
}

/** The operations that a mapping uses on its queue. Every call is attributed to the mapping. */
function openQueue({ logicalId, queueUrl: QueueUrl }: SqsMappingSpec, gateway: Gateway) {
  return {
    receive: async (count: number, WaitTimeSeconds: number): Promise<Message[]> => {
      const answer = await gateway.call(logicalId, 'sqs', 'ReceiveMessage', {
        QueueUrl,
        MaxNumberOfMessages: Math.min(count, RECEIVE_MESSAGES_MAX),
        WaitTimeSeconds,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      })
      return (answer.Messages ?? []) as Message[]
    },
    remove: async (messages: readonly Message[]) => {
      for (let at = 0; at < messages.length; at += RECEIVE_MESSAGES_MAX) {
        const slice = messages.slice(at, at + RECEIVE_MESSAGES_MAX)
        const Entries = slice.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }))
        await gateway.call(logicalId, 'sqs', 'DeleteMessageBatch', { QueueUrl, Entries })
      }
    },
  }
}

type SqsDelivery = SqsMappingSpec & {
  readonly target: LocalFunction
  readonly state: MappingState
  traceOf(messageId: string): string | undefined
  remove(messages: readonly Message[]): Promise<void>
}

/**
 * Invokes the function with one batch and deletes the messages that it handled. The others stay invisible until their visibility
 * timeout ends, as on AWS. Messages that the filters refuse are deleted without an invocation. A message whose chain is a loop is
 * refused at each receive, until the queue's redrive policy moves the message. Source: AWS Compute Blog, "Detecting and stopping
 * recursive loops in AWS Lambda functions".
 */
async function deliverMessages(messages: readonly Message[], delivery: SqsDelivery) {
  const { filters, state, target, remove } = delivery
  const passed = messages.filter(message => passesFilters(filters, filterView(message)))
  await remove(messages.filter(message => !passed.includes(message)))
  const wanted = passed.filter(({ MessageId }) => !target.refuses(delivery.traceOf(MessageId)))
  if (wanted.length === 0) return

  const records = wanted.map(message =>
    recordOf(message, delivery.queueArn, delivery.traceOf(message.MessageId)),
  )
  if (state.dropped?.(records)) return remove(wanted)

  const trace = joinedTrace(records.map(({ attributes }) => attributes.AWSTraceHeader))
  const heldUntil = performance.now() + delivery.visibilityMs - HOLD_MARGIN_MS
  let handled = wanted
  for (let round = 0; round < state.deliveries; round += 1) {
    const result = await invokeLoaded(() => target.invoke({ Records: records }, trace), delivery, heldUntil)
    handled = result.ok ? handledOf(handled, result.payload, delivery) : []
  }
  await remove(handled)
}

/** Messages are given up this long before other receivers see them again. */
const HOLD_MARGIN_MS = 500

/**
 * Invokes a function whose code may not load at the moment. The messages then wait here for other code, as long as SQS hides them.
 * So each costs one receive per visibility timeout, as on AWS, and is handled as soon as its function is mended.
 */
async function invokeLoaded(
  invoke: () => Promise<InvocationResult>,
  { target, state }: SqsDelivery,
  heldUntil: number,
): Promise<InvocationResult> {
  for (;;) {
    const result = await invoke()
    const left = heldUntil - performance.now()
    if (result.ok || !result.error.isLoadFailure || state.stopped || left <= 0) return result
    await target.changed(Math.min(RELOAD_DELAY_MS, left))
  }
}

function handledOf(messages: readonly Message[], answer: unknown, { reportsItemFailures }: SqsDelivery) {
  if (!reportsItemFailures) return [...messages]
  const outcome = readBatchFailures(answer, new Set(messages.map(({ MessageId }) => MessageId)))
  if (outcome.kind === 'all-succeeded') return [...messages]
  if (outcome.kind === 'all-failed') return []
  return messages.filter(({ MessageId }) => !outcome.identifiers.has(MessageId))
}

/** A message as ReceiveMessage returns it. */
type Message = {
  readonly MessageId: string
  readonly ReceiptHandle: string
  readonly Body: string
  readonly MD5OfBody: string
  readonly Attributes?: Record<string, string>
  readonly MessageAttributes?: Record<string, MessageAttribute>
  readonly MD5OfMessageAttributes?: string
}

type MessageAttribute = { DataType: string; StringValue?: string; BinaryValue?: string }

function recordOf(message: Message, queueArn: string, trace: string | undefined) {
  const attributes = Object.entries(message.MessageAttributes ?? {})
  return {
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: { ...message.Attributes, ...(trace && { AWSTraceHeader: trace }) } as Record<string, string>,
    messageAttributes: Object.fromEntries(attributes.map(([name, value]) => [name, attributeOf(value)])),
    ...(message.MD5OfMessageAttributes ? { md5OfMessageAttributes: message.MD5OfMessageAttributes } : {}),
    md5OfBody: message.MD5OfBody,
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn,
    awsRegion: REGION,
  }
}

const attributeOf = ({ DataType, StringValue, BinaryValue }: MessageAttribute) => ({
  ...(StringValue === undefined ? {} : { stringValue: StringValue }),
  ...(BinaryValue === undefined ? {} : { binaryValue: BinaryValue }),
  stringListValues: [],
  binaryListValues: [],
  dataType: DataType,
})

/** The form of a message that filters match: a JSON body is an object. */
function filterView(message: Message) {
  try {
    return { ...message, body: JSON.parse(message.Body) as unknown }
  } catch {
    return { ...message, body: message.Body }
  }
}
