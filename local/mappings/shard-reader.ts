import type { Gateway } from '../gateway/gateway.ts'
import type { StreamRecord } from './stream-records.ts'

/** The position of a mapping in each shard. It survives restarts if the tables do. */
export type Checkpoints = {
  get(shardId: string): string | undefined
  set(shardId: string, sequenceNumber: string): void
}

export type ShardReader = {
  readonly shardId: string
  /** Reads up to `limit` records after those of the last read. `closed` means that the shard will never have more. */
  read(limit: number): Promise<{ records: readonly StreamRecord[]; closed: boolean }>
}

type Position = { readonly streamArn: string; readonly shardId: string; readonly caller: string }

/** Reads one shard from its checkpoint on. Without a checkpoint it begins at `start`. */
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
    // An iterator expires after 15 minutes, or with a restart of the store. The next read opens a new one.
    iterator = undefined
    const answer = await gateway.call(caller, 'dynamodb', 'GetRecords', { ShardIterator, Limit: limit })
    const records = answer.Records as readonly StreamRecord[]
    lastRead = records.at(-1)?.dynamodb.SequenceNumber ?? lastRead
    iterator = answer.NextShardIterator as string | undefined
    return { records, closed: iterator === undefined }
  }

  return { shardId: ShardId, read }
}
