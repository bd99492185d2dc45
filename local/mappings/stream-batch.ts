import { setTimeout as sleep } from 'node:timers/promises'
import { REGION } from '../account.ts'
import { type LocalFunction, RELOAD_DELAY_MS } from '../functions/local-function.ts'
import { type MappingState, readBatchFailures } from './mapping.ts'

export type RetryRules = {
  /** How often a batch is retried; -1 for no limit. */
  readonly retries: number
  /** The age at which a record is given up; -1 for no limit. */
  readonly maxAgeS: number
  readonly bisects: boolean
  readonly reportsItemFailures: boolean
}

export type BatchSetting = RetryRules & {
  readonly streamArn: string
  readonly shardId: string
  readonly target: LocalFunction
  readonly state: MappingState
  reportLost(message: unknown): Promise<void>
}

/** The delay between attempts. Lambda's own backoff is not documented; a short one suits a developer. */
const backoffMs = (attempt: number) => Math.min(100 * 2 ** attempt, 5_000)

type Pending = { readonly records: readonly StreamRecord[]; readonly attempts: number }

/**
 * Delivers one batch until all of it is handled or given up, by the rules of the mapping. The order is kept: records after a failed
 * part are delivered only when that part has been handled or given up. Returns false when the mapping was stopped before the end.
 */
export async function deliverStreamBatch(
  records: readonly StreamRecord[],
  setting: BatchSetting,
): Promise<boolean> {
  const queue: Pending[] = [{ records, attempts: 0 }]
  let next = queue.shift()
  while (next && !setting.state.stopped) {
    queue.unshift(...(await attempt(next, setting)))
    next = queue.shift()
  }
  return next === undefined
}

/** Makes one attempt. Returns the parts that are still to be delivered. */
async function attempt(pending: Pending, setting: BatchSetting): Promise<Pending[]> {
  const young = pending.records.filter(record => !isTooOld(record, setting.maxAgeS, Date.now()))
  const expired = pending.records.slice(0, pending.records.length - young.length)
  if (expired.length > 0) await giveUp({ ...pending, records: expired }, 'RecordAgeExceeded', '', setting)
  if (young.length === 0) return []

  const batch = { ...pending, records: young }
  const events = young.map(record => eventRecordOf(record, setting.streamArn))
  if (setting.state.dropped?.(events)) return []
  const { left, requestId, isLoadFailure } = await invokeRepeatedly(batch, events, setting)
  if (left.length === 0) return []
  // The batch waits for code that loads. Unlike on AWS, that costs no attempt.
  if (isLoadFailure) {
    await setting.target.changed(RELOAD_DELAY_MS)
    return [batch]
  }
  return retryOf(batch, left, requestId, setting)
}

async function invokeRepeatedly(batch: Pending, events: readonly unknown[], setting: BatchSetting) {
  let left: readonly StreamRecord[] = []
  let requestId = ''
  let isLoadFailure = false
  for (let delivery = 0; delivery < setting.state.deliveries && left.length === 0; delivery += 1) {
    const result = await setting.target.invoke({ Records: events })
    requestId = result.requestId
    isLoadFailure = !result.ok && result.error.isLoadFailure === true
    left = result.ok ? unhandled(batch.records, result.payload, setting) : batch.records
  }
  return { left, requestId, isLoadFailure }
}

// The first failed sequence number is a checkpoint: every record from there on is delivered again.
function unhandled(records: readonly StreamRecord[], answer: unknown, { reportsItemFailures }: RetryRules) {
  if (!reportsItemFailures) return []
  const outcome = readBatchFailures(answer, new Set(records.map(sequenceOf)))
  if (outcome.kind === 'all-succeeded') return []
  if (outcome.kind === 'all-failed') return records
  return records.slice(records.findIndex(record => outcome.identifiers.has(sequenceOf(record))))
}

async function retryOf(
  batch: Pending,
  left: readonly StreamRecord[],
  requestId: string,
  setting: BatchSetting,
): Promise<Pending[]> {
  const progressed = left.length < batch.records.length
  // A split does not count as an attempt. A checkpoint inside the batch has split it already.
  if (setting.bisects && left.length > 1 && !progressed) {
    const middle = Math.ceil(left.length / 2)
    const halves = [left.slice(0, middle), left.slice(middle)]
    return halves.map(records => ({ records, attempts: batch.attempts }))
  }
  const attempts = batch.attempts + 1
  if (setting.retries >= 0 && attempts > setting.retries) {
    await giveUp({ records: left, attempts }, 'RetryAttemptsExhausted', requestId, setting)
    return []
  }
  await waitUnlessStopped(backoffMs(batch.attempts), setting.state)
  return [{ records: left, attempts }]
}

async function giveUp(
  lost: Pending,
  condition: Lost['condition'],
  requestId: string,
  { reportLost, streamArn, shardId, target }: BatchSetting,
) {
  const at = { streamArn, shardId, functionArn: target.arn, now: Date.now() }
  await reportLost(failureMessage({ ...lost, ...at, condition, requestId }))
}

async function waitUnlessStopped(ms: number, state: MappingState) {
  const deadline = Date.now() + ms
  while (Date.now() < deadline && !state.stopped) await sleep(Math.min(50, deadline - Date.now()))
}

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

function eventRecordOf(record: StreamRecord, streamArn: string) {
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

const sequenceOf = (record: StreamRecord) => record.dynamodb.SequenceNumber

const isTooOld = (record: StreamRecord, maxAgeS: number, now: number) =>
  maxAgeS >= 0 && now - record.dynamodb.ApproximateCreationDateTime * 1000 > maxAgeS * 1000

type Lost = Pending & {
  readonly streamArn: string
  readonly shardId: string
  readonly functionArn: string
  readonly condition: 'RetryAttemptsExhausted' | 'RecordAgeExceeded'
  readonly requestId: string
  readonly now: number
}

/** The message that Lambda sends to the on-failure destination: the position of the lost records, without the records. */
export function failureMessage(lost: Lost) {
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
