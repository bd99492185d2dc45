import type { LocalFunction } from '../functions/local-function.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Pattern } from './event-pattern.ts'
import { controlOf, type Mapping, newMappingState } from './mapping.ts'
import { runShard } from './shard-loop.ts'
import { type Checkpoints, openShard } from './shard-reader.ts'
import type { RetryRules } from './stream-batch.ts'
import { createWakeSignal, type WakeSignal } from './wake-signal.ts'

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

/**
 * Invokes a function with the records of a table's stream. Each shard has one batch at a time, which keeps the order within an
 * item. A child shard is read after its parent has been read to the end.
 */
export function startStreamMapping(spec: StreamMappingSpec, target: LocalFunction, parts: Parts): Mapping {
  const { logicalId, streamArn } = spec
  const { gateway, checkpoints } = parts
  const state = newMappingState()
  const known = new Map<string, 'open' | 'finished'>()
  const reading = new Set<Promise<void>>()
  const shardBell = createWakeSignal()
  const bells = new Set<WakeSignal>([shardBell])
  const log = (line: string) => parts.log(`${logicalId} ${line}`)
  const batches = { ...spec, target, state, reportLost: parts.reportLost }

  async function watchShards() {
    while (!state.stopped) {
      await openNewShards()
      await shardBell.wait(SHARD_LIST_MS, [])
    }
  }

  async function openNewShards() {
    const shards = await listShards(gateway, spec).catch(cause => {
      if (!state.stopped) log(`could not list shards: ${cause}`)
      return []
    })
    for (const { ShardId } of shards.filter(shard => isReadable(shard, shards, known))) {
      // `LATEST` may skip only records from before the mapping. A shard that appears later is therefore read from its start.
      const start = known.size > 0 ? 'TRIM_HORIZON' : spec.start
      known.set(ShardId, 'open')
      const read: Promise<void> = readShard(ShardId, start).finally(() => reading.delete(read))
      reading.add(read)
    }
  }

  async function readShard(shardId: string, start: StreamMappingSpec['start']) {
    const position = { streamArn, shardId, caller: logicalId }
    const reader = openShard(gateway, position, checkpoints.get(shardId), start)
    const bell = createWakeSignal()
    bells.add(bell)
    await runShard({ ...spec, reader, bell, batches, checkpoints, log })
    bells.delete(bell)
    if (state.stopped) return
    known.set(shardId, 'finished')
    await openNewShards()
  }

  const wake = () => {
    for (const bell of bells) if (bell !== shardBell) bell.ring()
  }
  const ignoreWrites = gateway.onWrite(tables => {
    if (tables.includes(spec.tableName)) wake()
  })
  const watching = parts.after.then(watchShards)

  return {
    logicalId,
    source: 'dynamodb',
    sourceArn: streamArn,
    functionId: target.logicalId,
    ...controlOf(state, wake),
    stop: async () => {
      state.stopped = true
      ignoreWrites()
      for (const bell of bells) bell.ring()
      await watching
      await Promise.all(reading)
    },
  }
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
    const asked = { StreamArn: streamArn, ...(after ? { ExclusiveStartShardId: after } : {}) }
    const { StreamDescription } = (await gateway.call(logicalId, 'dynamodb', 'DescribeStream', asked)) as {
      StreamDescription: { Shards?: Shard[]; LastEvaluatedShardId?: string }
    }
    shards.push(...(StreamDescription.Shards ?? []))
    after = StreamDescription.LastEvaluatedShardId
  } while (after)
  return shards
}
