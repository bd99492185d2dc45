import { REGION } from '../account.ts'
import { joinedTrace } from '../functions/lineage.ts'
import { type LocalFunction, RELOAD_DELAY_MS } from '../functions/local-function.ts'
import type { InvocationResult } from '../functions/sandbox.ts'
import { type Pattern, passesFilters } from './event-pattern.ts'
import { type MappingState, readBatchFailures } from './mapping.ts'

type SqsDelivery = {
  readonly queueArn: string
  readonly visibilityMs: number
  readonly filters: readonly Pattern[]
  readonly reportsItemFailures: boolean
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
export async function deliverMessages(messages: readonly Message[], delivery: SqsDelivery) {
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
export type Message = {
  readonly MessageId: string
  readonly ReceiptHandle: string
  readonly Body: string
  readonly MD5OfBody: string
  readonly Attributes?: Record<string, string>
  readonly MessageAttributes?: Record<string, MessageAttribute>
  readonly MD5OfMessageAttributes?: string
}

type MessageAttribute = { DataType: string; StringValue?: string; BinaryValue?: string }

/** The record that a function receives. */
function recordOf(message: Message, queueArn: string, trace: string | undefined) {
  const attributes = Object.entries(message.MessageAttributes ?? {})
  return {
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: { ...message.Attributes, ...(trace ? { AWSTraceHeader: trace } : {}) } as Record<
      string,
      string
    >,
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
