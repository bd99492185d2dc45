import { REGION } from '../account.ts'

type Value = { readonly M?: Image; readonly L?: readonly Value[] }
type Image = Readonly<Record<string, Value>>

/** A record as GetRecords returns it. */
export type StreamRecord = {
  readonly eventID: string
  readonly eventName: string
  readonly eventVersion: string
  readonly eventSource: string
  readonly awsRegion: string
  readonly dynamodb: {
    readonly ApproximateCreationDateTime: number
    readonly Keys: unknown
    readonly NewImage?: Image
    readonly OldImage?: Image
    readonly SequenceNumber: string
    readonly SizeBytes: number
    readonly StreamViewType: string
  }
  readonly userIdentity?: { readonly PrincipalId: string; readonly Type: string }
}

/** The record that a function receives. */
export function eventRecordOf(record: StreamRecord, streamArn: string) {
  const { userIdentity, dynamodb, ...rest } = record
  const identity = userIdentity && { type: userIdentity.Type, principalId: userIdentity.PrincipalId }
  const { NewImage, OldImage } = dynamodb
  return {
    ...rest,
    dynamodb: {
      ...dynamodb,
      ...(NewImage !== undefined && { NewImage: withEmptyMaps(NewImage) }),
      ...(OldImage !== undefined && { OldImage: withEmptyMaps(OldImage) }),
    },
    awsRegion: REGION,
    eventSourceARN: streamArn,
    ...(identity ? { userIdentity: identity } : {}),
  }
}

/** DynamoDB Local writes an empty map into its streams as `{}`; DynamoDB writes `{"M": {}}`. */
function withEmptyMaps(image: Image): Image {
  return Object.fromEntries(Object.entries(image).map(([name, value]) => [name, withEmptyMap(value)]))
}

function withEmptyMap(value: Value): Value {
  if (Object.keys(value).length === 0) return { M: {} }
  if (value.M) return { M: withEmptyMaps(value.M) }
  return value.L ? { L: value.L.map(withEmptyMap) } : value
}

export const sequenceOf = (record: StreamRecord) => record.dynamodb.SequenceNumber

/** Whether a record is older than a mapping's `MaximumRecordAgeInSeconds`; -1 means no limit. */
export const isTooOld = (record: StreamRecord, maxAgeS: number, now: number) =>
  maxAgeS >= 0 && now - record.dynamodb.ApproximateCreationDateTime * 1000 > maxAgeS * 1000

/** The message that Lambda sends to the on-failure destination: the position of the lost records, without the records. */
export function failureMessage(lost: {
  readonly records: readonly StreamRecord[]
  readonly streamArn: string
  readonly shardId: string
  readonly functionArn: string
  readonly attempts: number
  readonly condition: 'RetryAttemptsExhausted' | 'RecordAgeExceeded'
  readonly requestId: string
  readonly now: number
}) {
  const [first, last] = [lost.records[0], lost.records.at(-1)] as [StreamRecord, StreamRecord]
  const arrivalOf = (record: StreamRecord) =>
    new Date(record.dynamodb.ApproximateCreationDateTime * 1000).toISOString()
  return {
    requestContext: {
      requestId: lost.requestId,
      functionArn: lost.functionArn,
      condition: lost.condition,
      approximateInvokeCount: lost.attempts,
    },
    responseContext: { statusCode: 200, executedVersion: '$LATEST', functionError: 'Unhandled' },
    version: '1.0',
    timestamp: new Date(lost.now).toISOString(),
    DDBStreamBatchInfo: {
      shardId: lost.shardId,
      startSequenceNumber: sequenceOf(first),
      endSequenceNumber: sequenceOf(last),
      approximateArrivalOfFirstRecord: arrivalOf(first),
      approximateArrivalOfLastRecord: arrivalOf(last),
      batchSize: lost.records.length,
      streamArn: lost.streamArn,
    },
  }
}
