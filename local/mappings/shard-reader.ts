import type { Gateway } from '../gateway/gateway.ts'
import type { StreamRecord } from './stream-records.ts'

/** Where a mapping stands in each shard; kept across restarts when the tables are. */
export type Checkpoints = {
  get(shardId: string): string | undefined
  set(shardId: string, sequenceNumber: string): void
}

export type ShardReader = {
  readonly shardId: string
  /** Up to `limit` records behind the last ones; `closed` when the shard will never have more. */
  read(limit: number): Promise<{ records: readonly StreamRecord[]; closed: boolean }>
}

type Position = { readonly streamArn: string; readonly shardId: string; readonly caller: string }

/** Reads one shard from its checkpoint on (from its beginning when it has none, or `LATEST` when so asked). */
export function openShard(
  gateway: Gateway,
  position: Position,
  checkpoint: string | undefined,
  start: 'TRIM_HORIZON' | 'LATEST',
): ShardReader {
  const { streamArn: StreamArn, shardId: ShardId, caller } = position
  let lastRead = checkpoint
  let iterator: string | undefined

  async function openIterator() {
    const where = lastRead
      ? { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: lastRead }
      : { ShardIteratorType: start }
    const answer = await gateway.call(caller, 'dynamodb', 'GetShardIterator', {
      StreamArn,
      ShardId,
      ...where,
    })
    return String(answer.ShardIterator)
  }

  async function read(limit: number) {
    iterator ??= await openIterator()
    const ShardIterator = iterator
    // Iterators expire after 15 minutes and die with a restart of the store; the next read opens a new one.
    iterator = undefined
    const answer = await gateway.call(caller, 'dynamodb', 'GetRecords', { ShardIterator, Limit: limit })
    const records = answer.Records as readonly StreamRecord[]
    lastRead = records.at(-1)?.dynamodb.SequenceNumber ?? lastRead
    iterator = answer.NextShardIterator as string | undefined
    return { records, closed: iterator === undefined }
  }

  return { shardId: ShardId, read }
}
