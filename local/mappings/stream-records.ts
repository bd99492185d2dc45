import { REGION } from '../account.ts'

/** A record as GetRecords gives it. */
export type StreamRecord = {
  readonly eventID: string
  readonly eventName: string
  readonly eventVersion: string
  readonly eventSource: string
  readonly awsRegion: string
  readonly dynamodb: {
    readonly ApproximateCreationDateTime: number
    readonly Keys: unknown
    readonly NewImage?: unknown
    readonly OldImage?: unknown
    readonly SequenceNumber: string
    readonly SizeBytes: number
    readonly StreamViewType: string
  }
  readonly userIdentity?: { readonly PrincipalId: string; readonly Type: string }
}

/** The record a function sees. */
export function eventRecordOf(record: StreamRecord, streamArn: string) {
  const { userIdentity, ...rest } = record
  const identity = userIdentity && { type: userIdentity.Type, principalId: userIdentity.PrincipalId }
  return {
    ...rest,
    awsRegion: REGION,
    eventSourceARN: streamArn,
    ...(identity ? { userIdentity: identity } : {}),
  }
}

export const sequenceOf = (record: StreamRecord) => record.dynamodb.SequenceNumber

/** Whether a record is older than a mapping's `MaximumRecordAgeInSeconds`; -1 means that none is. */
export const isTooOld = (record: StreamRecord, maxAgeS: number, now: number) =>
  maxAgeS >= 0 && now - record.dynamodb.ApproximateCreationDateTime * 1000 > maxAgeS * 1000

/** What Lambda sends to the on-failure destination: where the lost records are, not the records. */
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
