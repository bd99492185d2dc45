import { REGION } from '../account.ts'

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
export function recordOf(message: Message, queueArn: string, trace: string | undefined) {
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
export function filterView(message: Message) {
  try {
    return { ...message, body: JSON.parse(message.Body) as unknown }
  } catch {
    return { ...message, body: message.Body }
  }
}
