/**
 * Lambda's event source mappings. They read queues (`sqs-mapping.ts`, `sqs-delivery.ts`) and streams (`stream-mapping.ts`,
 * `shard-loop.ts`, `stream-batch.ts`), filter records (`event-pattern.ts`), and invoke functions with batches. `mapping.ts` has
 * the controls for tests.
 */

import { nameOfArn } from '../account.ts'
import type { StateFile } from '../data-folder/state-file.ts'
import type { Functions } from '../functions/functions.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { SqsServer } from '../stores/sqs-server.ts'
import { isTable } from '../stores/tables.ts'
import type { Stack } from '../template/stack.ts'
import { readFilters } from './event-pattern.ts'
import type { Mapping } from './mapping.ts'
import type { Checkpoints } from './shard-reader.ts'
import { startSqsMapping } from './sqs-mapping.ts'
import { startStreamMapping } from './stream-mapping.ts'

export type KeptCheckpoints = Record<string, string>

type Parts = {
  readonly gateway: Gateway
  readonly sqs: SqsServer
  readonly functions: Functions
  readonly checkpoints: StateFile<KeptCheckpoints>
  readonly log: (line: string) => void
}

type MappingProperties = {
  readonly EventSourceArn: string
  readonly FunctionName: string
  readonly BatchSize?: number
  readonly MaximumBatchingWindowInSeconds?: number
  readonly ScalingConfig?: { readonly MaximumConcurrency?: number }
  readonly FunctionResponseTypes?: readonly string[]
  readonly FilterCriteria?: unknown
  readonly StartingPosition?: string
  readonly MaximumRetryAttempts?: number
  readonly MaximumRecordAgeInSeconds?: number
  readonly BisectBatchOnFunctionError?: boolean
  readonly DestinationConfig?: { readonly OnFailure?: { readonly Destination?: string } }
  readonly Enabled?: boolean
}

/** Lambda's default size of a batch from an SQS queue. */
const SQS_BATCH_MESSAGES = 10
/** Lambda's default size of a batch from a stream. */
const STREAM_BATCH_RECORDS = 100
/** Lambda's maximum of concurrent batches per SQS mapping. */
const SQS_CONCURRENCY_MAX = 1250

/** Starts every event source mapping of the template. */
export function startMappings(stack: Stack, parts: Parts): Mapping[] {
  return stack.ids('AWS::Lambda::EventSourceMapping').flatMap(logicalId => {
    const properties = stack.properties(logicalId) as MappingProperties
    if (properties.Enabled === false) return []
    const { EventSourceArn } = properties
    if (EventSourceArn.startsWith('arn:aws:sqs:')) return startSqs(stack, logicalId, properties, parts)
    if (EventSourceArn.includes('/stream/')) return startStream(stack, logicalId, properties, parts)
    throw new Error(`${logicalId} reads from ${EventSourceArn}, which the local cloud cannot read`)
  })
}

function startSqs(stack: Stack, logicalId: string, properties: MappingProperties, parts: Parts): Mapping {
  const queueId = stack.byArn(properties.EventSourceArn)
  if (!queueId)
    throw new Error(`${logicalId} reads from ${properties.EventSourceArn}, which is not in the stack`)
  const spec = {
    ...commonOf(logicalId, properties, SQS_BATCH_MESSAGES),
    queueArn: properties.EventSourceArn,
    queueUrl: stack.describe(queueId).physicalId,
    concurrency: properties.ScalingConfig?.MaximumConcurrency ?? SQS_CONCURRENCY_MAX,
  }
  return startSqsMapping(spec, parts.functions.find(properties.FunctionName), parts)
}

function startStream(stack: Stack, logicalId: string, properties: MappingProperties, parts: Parts): Mapping {
  const { EventSourceArn: streamArn } = properties
  const tableId = stack.ids(isTable).find(id => stack.describe(id).attributes.StreamArn === streamArn)
  if (!tableId) throw new Error(`${logicalId} reads from ${streamArn}, which is not a stream of the stack`)
  const spec = {
    ...commonOf(logicalId, properties, STREAM_BATCH_RECORDS),
    streamArn,
    tableName: stack.describe(tableId).physicalId,
    start: properties.StartingPosition === 'LATEST' ? ('LATEST' as const) : ('TRIM_HORIZON' as const),
    retries: properties.MaximumRetryAttempts ?? -1,
    maxAgeS: properties.MaximumRecordAgeInSeconds ?? -1,
    bisects: properties.BisectBatchOnFunctionError ?? false,
  }
  return startStreamMapping(spec, parts.functions.find(properties.FunctionName), {
    gateway: parts.gateway,
    log: parts.log,
    checkpoints: checkpointsOf(logicalId, parts.checkpoints),
    reportLost: message => reportGivenUp(stack, logicalId, properties, message, parts),
  })
}

const commonOf = (logicalId: string, properties: MappingProperties, defaultBatchSize: number) => ({
  logicalId,
  batchSize: properties.BatchSize ?? defaultBatchSize,
  windowMs: (properties.MaximumBatchingWindowInSeconds ?? 0) * 1000,
  reportsItemFailures: properties.FunctionResponseTypes?.includes('ReportBatchItemFailures') ?? false,
  filters: readFilters(properties.FilterCriteria),
})

/** Reports a batch that the mapping has given up to its failure destination, if that is a queue. */
async function reportGivenUp(
  stack: Stack,
  logicalId: string,
  { DestinationConfig }: MappingProperties,
  message: unknown,
  { gateway, log }: Parts,
) {
  const destination = DestinationConfig?.OnFailure?.Destination
  log(`${logicalId} gave up a batch: ${JSON.stringify(message)}`)
  if (!destination?.startsWith('arn:aws:sqs:')) return
  const queueId = stack.byArn(destination)
  if (!queueId) return log(`${logicalId} cannot report it: the stack has no queue ${nameOfArn(destination)}`)
  const QueueUrl = stack.describe(queueId).physicalId
  await gateway.call(logicalId, 'sqs', 'SendMessage', { QueueUrl, MessageBody: JSON.stringify(message) })
}

function checkpointsOf(logicalId: string, kept: StateFile<KeptCheckpoints>): Checkpoints {
  const keyOf = (shardId: string) => `${logicalId} ${shardId}`
  return {
    get: shardId => kept.read()[keyOf(shardId)],
    set: (shardId, sequenceNumber) => kept.write({ ...kept.read(), [keyOf(shardId)]: sequenceNumber }),
  }
}
