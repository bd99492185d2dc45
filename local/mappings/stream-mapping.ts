import type { LocalFunction } from '../functions/local-function.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { controlOf, type Mapping, type MappingState, newMappingState, type Pattern } from './mapping.ts'
import { type Checkpoints, createWakeSignal, openShard, runShard, type WakeSignal } from './shard-loop.ts'
import type { RetryRules } from './stream-batch.ts'

/** The interval at which the mapping lists shards. It lists the children of a closed shard at once. */
const SHARD_LIST_MS = 2_000

export type StreamMappingSpec = RetryRules & {
  readonly logicalId: string
  readonly streamArn: string
  readonly tableName: string
  readonly batchSize: number
  readonly parallelization: number
  readonly windowMs: number
  readonly start: 'TRIM_HORIZON' | 'LATEST'
  readonly filters: readonly Pattern[]
}

type Parts = {
  readonly gateway: Gateway
  readonly checkpoints: Checkpoints
  readonly log: (line: string) => void
  reportLost(message: unknown): Promise<void>
  /** The mapping begins to read when this resolves. */
  readonly after: Promise<void>
}

/** A mapping that reads shards: which it knows, which it reads, and the bells that end its waits. */
type Reading = {
  readonly spec: StreamMappingSpec
  readonly target: LocalFunction
  readonly parts: Parts
  readonly state: MappingState
  readonly known: Map<string, 'open' | 'finished'>
  readonly underWay: Set<Promise<void>>
  /** Ends the wait for new shards. */
  readonly listBell: WakeSignal
  /** End the waits for new records. */
  readonly bells: Set<WakeSignal>
}

/**
 * Invokes a function with the records of a table's stream. Each shard has one batch at a time, which keeps the order within an
 * item. A child shard is read after its parent has been read to the end.
 */
export function startStreamMapping(spec: StreamMappingSpec, target: LocalFunction, parts: Parts): Mapping {
  const state = newMappingState()
  const reading: Reading = {
    ...{ spec, target, parts, state, listBell: createWakeSignal() },
    ...{ known: new Map(), underWay: new Set(), bells: new Set() },
  }
  const wake = () => {
    for (const bell of reading.bells) bell.ring()
  }
  const ignoreWrites = parts.gateway.onWrite(tables => {
    if (tables.includes(spec.tableName)) wake()
  })
  const watching = parts.after.then(() => watchShards(reading))
  return {
    logicalId: spec.logicalId,
    source: 'dynamodb',
    sourceArn: spec.streamArn,
    functionId: target.logicalId,
    ...controlOf(state, wake),
    stop: async () => {
      state.stopped = true
      ignoreWrites()
      reading.listBell.ring()
      wake()
      await watching
      await Promise.all(reading.underWay)
    },
  }
}

async function watchShards(reading: Reading): Promise<void> {
  while (!reading.state.stopped) {
    await openNewShards(reading)
    await reading.listBell.wait(SHARD_LIST_MS, [])
  }
}

async function openNewShards(reading: Reading): Promise<void> {
  const { spec, parts, state, known, underWay } = reading
  const shards = await listShards(parts.gateway, spec).catch(cause => {
    if (!state.stopped) parts.log(`${spec.logicalId} could not list shards: ${cause}`)
    return []
  })
  for (const { ShardId } of shards.filter(shard => isReadable(shard, shards, known))) {
    // `LATEST` may skip only records from before the mapping. A shard that appears later is therefore read from its start.
    const start = known.size > 0 ? 'TRIM_HORIZON' : spec.start
    known.set(ShardId, 'open')
    const read: Promise<void> = readShard(reading, ShardId, start).finally(() => underWay.delete(read))
    underWay.add(read)
  }
}

async function readShard(
  reading: Reading,
  shardId: string,
  start: StreamMappingSpec['start'],
): Promise<void> {
  const { spec, target, state, bells, known } = reading
  const { gateway, checkpoints, reportLost } = reading.parts
  const position = { streamArn: spec.streamArn, shardId, caller: spec.logicalId }
  const reader = openShard(gateway, position, checkpoints.get(shardId), start)
  const bell = createWakeSignal()
  const log = (line: string) => reading.parts.log(`${spec.logicalId} ${line}`)
  const batches = { ...spec, shardId, target, state, reportLost }
  bells.add(bell)
  await runShard({ ...spec, reader, bell, batches, checkpoints, log })
  bells.delete(bell)
  if (state.stopped) return
  known.set(shardId, 'finished')
  await openNewShards(reading)
}

type Shard = { readonly ShardId: string; readonly ParentShardId?: string }

function isReadable(
  { ShardId, ParentShardId }: Shard,
  all: readonly Shard[],
  known: ReadonlyMap<string, string>,
) {
  if (known.has(ShardId)) return false
  const isParentListed = all.some(shard => shard.ShardId === ParentShardId)
  return !isParentListed || known.get(ParentShardId ?? '') === 'finished'
}

async function listShards(gateway: Gateway, { logicalId, streamArn }: StreamMappingSpec): Promise<Shard[]> {
  const shards: Shard[] = []
  let after: string | undefined
  do {
    const request = { StreamArn: streamArn, ...(after ? { ExclusiveStartShardId: after } : {}) }
    const { StreamDescription } = (await gateway.call(logicalId, 'dynamodb', 'DescribeStream', request)) as {
      StreamDescription: { Shards?: Shard[]; LastEvaluatedShardId?: string }
    }
    shards.push(...(StreamDescription.Shards ?? []))
    after = StreamDescription.LastEvaluatedShardId
  } while (after)
  return shards
}
