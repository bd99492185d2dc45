/**
 * Lambda's event source mappings. They read queues (`sqs-mapping.ts`) and streams (`stream-mapping.ts`,
 * `shard-loop.ts`, `stream-batch.ts`), filter records, and invoke functions with batches. `mapping.ts` has the
 * filters, and the controls for tests. A deployment leaves a mapping alone if nothing about it has changed.
 */

import type { StateFile } from '../data-folder.ts'
import type { Functions, NextFunctions } from '../functions/functions.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { createReplaceable } from '../replaceable.ts'
import type { SqsServer } from '../stores/sqs-server.ts'
import { isTable } from '../stores/tables.ts'
import type { Stack } from '../template/stack.ts'
import { type Mapping, readFilters } from './mapping.ts'
import type { Checkpoints } from './shard-loop.ts'
import { type SqsMappingSpec, startSqsMapping } from './sqs-mapping.ts'
import { type StreamMappingSpec, startStreamMapping } from './stream-mapping.ts'

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
  readonly ParallelizationFactor?: number
  readonly MaximumRetryAttempts?: number
  readonly MaximumRecordAgeInSeconds?: number
  readonly BisectBatchOnFunctionError?: boolean
  readonly DestinationConfig?: { readonly OnFailure?: { readonly Destination?: string } }
  readonly Enabled?: boolean
}

type LostBatches = { readonly destination?: string; readonly queueUrl?: string }

/** A mapping as its stack describes it. */
export type MappingSpec = { readonly functionId: string } & (
  | { readonly source: 'sqs'; readonly spec: SqsMappingSpec }
  | { readonly source: 'dynamodb'; readonly spec: StreamMappingSpec; readonly lost: LostBatches }
)

/** The event source mappings of a cloud. */
export function createMappings(parts: Parts) {
  return createReplaceable(
    ({ spec }: MappingSpec) => spec.logicalId,
    (read, after): Mapping => {
      const target = parts.functions.find(read.functionId)
      if (read.source === 'sqs') return startSqsMapping(read.spec, target, parts)
      const { logicalId } = read.spec
      return startStreamMapping(read.spec, target, {
        gateway: parts.gateway,
        log: parts.log,
        checkpoints: checkpointsOf(logicalId, parts.checkpoints),
        reportLost: message => reportGivenUp(logicalId, read.lost, message, parts),
        // Batches of one shard follow each other, also across the two mappings.
        after,
      })
    },
  )
}

/** Lambda's default size of a batch from an SQS queue. */
const SQS_BATCH_MESSAGES = 10
/** Lambda's default size of a batch from a stream. */
const STREAM_BATCH_RECORDS = 100
/** Lambda's maximum of concurrent batches per SQS mapping. */
const SQS_CONCURRENCY_MAX = 1250

/** Reads the event source mappings of a stack. `report` receives those that cannot run here. */
export function readMappings(
  stack: Stack,
  functions: NextFunctions,
  report: (logicalId: string, reason: string) => void,
): MappingSpec[] {
  return stack.ids('AWS::Lambda::EventSourceMapping').flatMap(logicalId => {
    const properties = stack.properties(logicalId) as MappingProperties
    if (properties.Enabled === false) return []
    const read = readMapping(stack, logicalId, properties, functions)
    if (typeof read !== 'string') return [read]
    report(logicalId, read)
    return []
  })
}

/** A mapping, or the reason why it cannot run here. */
function readMapping(
  stack: Stack,
  logicalId: string,
  properties: MappingProperties,
  functions: NextFunctions,
): MappingSpec | string {
  const { EventSourceArn: source, FunctionName } = properties
  const functionId = functions.idOf(FunctionName)
  if (functionId === undefined) return `its function ${FunctionName} is not in the stack`
  const problem = functions.unsupported(functionId)
  if (problem !== undefined) return `its function does not run: ${problem}`
  const found = { stack, logicalId, properties, functionId }
  if (source.startsWith('arn:aws:sqs:')) return readSqs(found)
  if (source.includes('/stream/')) return readStream(found)
  return `the local cloud cannot read from ${source}`
}

type Found = Readonly<{ stack: Stack; logicalId: string; properties: MappingProperties; functionId: string }>

function readSqs({ stack, logicalId, properties, functionId }: Found): MappingSpec | string {
  const queueId = stack.byArn(properties.EventSourceArn)
  if (!queueId) return `its queue ${properties.EventSourceArn} is not in the stack`
  const spec = {
    ...commonOf(logicalId, properties, SQS_BATCH_MESSAGES),
    queueArn: properties.EventSourceArn,
    queueUrl: stack.describe(queueId).physicalId,
    visibilityMs: Number(stack.read(queueId, 'VisibilityTimeout') ?? DEFAULT_VISIBILITY_S) * 1_000,
    concurrency: properties.ScalingConfig?.MaximumConcurrency ?? SQS_CONCURRENCY_MAX,
  }
  return { source: 'sqs', functionId, spec }
}

/** The visibility timeout of a queue that sets none. */
const DEFAULT_VISIBILITY_S = 30

function readStream({ stack, logicalId, properties, functionId }: Found): MappingSpec | string {
  const { EventSourceArn: streamArn } = properties
  const tableId = stack.ids(isTable).find(id => stack.describe(id).attributes.StreamArn === streamArn)
  if (!tableId) return `${streamArn} is not a stream of the stack`
  const spec = {
    ...commonOf(logicalId, properties, STREAM_BATCH_RECORDS),
    streamArn,
    tableName: stack.describe(tableId).physicalId,
    start: properties.StartingPosition === 'LATEST' ? ('LATEST' as const) : ('TRIM_HORIZON' as const),
    parallelization: properties.ParallelizationFactor ?? 1,
    retries: properties.MaximumRetryAttempts ?? -1,
    maxAgeS: properties.MaximumRecordAgeInSeconds ?? -1,
    bisects: properties.BisectBatchOnFunctionError ?? false,
  }
  return { source: 'dynamodb', functionId, spec, lost: lostBatchesOf(stack, properties) }
}

const commonOf = (logicalId: string, properties: MappingProperties, defaultBatchSize: number) => ({
  logicalId,
  batchSize: properties.BatchSize ?? defaultBatchSize,
  windowMs: (properties.MaximumBatchingWindowInSeconds ?? 0) * 1000,
  reportsItemFailures: properties.FunctionResponseTypes?.includes('ReportBatchItemFailures') ?? false,
  filters: readFilters(properties.FilterCriteria),
})

function lostBatchesOf(stack: Stack, { DestinationConfig }: MappingProperties): LostBatches {
  const destination = DestinationConfig?.OnFailure?.Destination
  if (!destination?.startsWith('arn:aws:sqs:')) return {}
  const queueId = stack.byArn(destination)
  return queueId === undefined
    ? { destination }
    : { destination, queueUrl: stack.describe(queueId).physicalId }
}

/** Reports a batch that the mapping has given up to its failure destination, if that is a queue. */
async function reportGivenUp(
  logicalId: string,
  { destination, queueUrl }: LostBatches,
  message: unknown,
  { gateway, log }: Parts,
) {
  log(`${logicalId} gave up a batch: ${JSON.stringify(message)}`)
  if (queueUrl !== undefined) {
    const sent = { QueueUrl: queueUrl, MessageBody: JSON.stringify(message) }
    await gateway.call(logicalId, 'sqs', 'SendMessage', sent)
  } else if (destination !== undefined) {
    log(`${logicalId} cannot report it: the stack has no queue ${destination}`)
  }
}

function checkpointsOf(logicalId: string, kept: StateFile<KeptCheckpoints>): Checkpoints {
  const keyOf = (shardId: string) => `${logicalId} ${shardId}`
  return {
    get: shardId => kept.read()[keyOf(shardId)],
    set: (shardId, sequenceNumber) => kept.write({ ...kept.read(), [keyOf(shardId)]: sequenceNumber }),
  }
}
