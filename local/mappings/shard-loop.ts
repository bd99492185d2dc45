import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSignal } from '../functions/local-function.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { type Pattern, passesFilters } from './mapping.ts'
import { type BatchSetting, deliverStreamBatch, type StreamRecord } from './stream-batch.ts'

/** The most records that one GetRecords returns. */
const READ_RECORDS_MAX = 1000
/** Lambda polls each shard about four times per second. A write that the gateway sees wakes the reader earlier. */
const IDLE_POLL_MS = 250
/** A record can be read shortly after its write was answered. These are the waits between the reader's attempts. */
const WAITS_AFTER_WRITE_MS = [0, 1, 2, 4, 8, 15]
const PAUSE_POLL_MS = 20

type ShardLoop = {
  readonly reader: ShardReader
  readonly bell: WakeSignal
  readonly batches: BatchSetting
  readonly batchSize: number
  /** How many batches of a shard are under way at a time. */
  readonly parallelization: number
  readonly windowMs: number
  readonly filters: readonly Pattern[]
  readonly checkpoints: Checkpoints
  readonly log: (line: string) => void
}

/** Reads a shard and delivers its batches one after the other, until the shard is closed or the mapping is stopped. */
export async function runShard(loop: ShardLoop) {
  const { state } = loop.batches
  let closed = false
  while (!closed && !state.stopped) {
    if (state.paused) {
      await sleep(PAUSE_POLL_MS)
      continue
    }
    closed = await step(loop).catch(async cause => {
      if (!state.stopped) loop.log(`could not read ${loop.reader.shardId}: ${cause}`)
      await loop.bell.wait(IDLE_POLL_MS, [])
      return false
    })
  }
}

/**
 * Delivers all batches of one read. Returns whether the shard has ended. As Lambda does with a parallelization factor, it keeps the order
 * of the records of one item, and delivers records of other items at the same time.
 */
async function step(loop: ShardLoop): Promise<boolean> {
  const { reader, parallelization } = loop
  const { records, closed } = await readWindow(loop)
  if (records.length === 0 && !closed) await loop.bell.wait(IDLE_POLL_MS, WAITS_AFTER_WRITE_MS)
  const lanes = Array.from({ length: parallelization }, (): StreamRecord[] => [])
  for (const record of records)
    if (passesFilters(loop.filters, record)) lanes[laneOf(record, parallelization)]?.push(record)
  const delivered = await Promise.all(lanes.map(lane => deliver(lane, loop)))
  // The next mapping of the shard delivers a batch again that the stop interrupted.
  if (delivered.includes(false)) return closed
  const last = records.at(-1)
  if (last) loop.checkpoints.set(reader.shardId, last.dynamodb.SequenceNumber)
  return closed
}

function laneOf(record: StreamRecord, lanes: number): number {
  return createHash('sha256').update(JSON.stringify(record.dynamodb.Keys)).digest().readUInt32BE() % lanes
}

async function deliver(records: readonly StreamRecord[], { batches, batchSize }: ShardLoop) {
  for (let at = 0; at < records.length; at += batchSize) {
    const batch = records.slice(at, at + batchSize)
    if (!(await deliverStreamBatch(batch, batches))) return false
  }
  return true
}

async function readWindow({ reader, batchSize: size, parallelization, windowMs, batches }: ShardLoop) {
  const batchSize = size * parallelization
  const first = await reader.read(Math.min(READ_RECORDS_MAX, batchSize))
  const records: StreamRecord[] = [...first.records]
  const deadline = Date.now() + windowMs
  let { closed } = first
  const wantsMore = () =>
    records.length < batchSize && Date.now() < deadline && !closed && !batches.state.stopped
  while (records.length > 0 && wantsMore()) {
    await sleep(Math.min(PAUSE_POLL_MS, Math.max(1, deadline - Date.now())))
    const more = await reader.read(Math.min(READ_RECORDS_MAX, batchSize - records.length))
    records.push(...more.records)
    closed = more.closed
  }
  return { records, closed }
}

/** The position of a mapping in each shard. It survives restarts if the tables do. */
export type Checkpoints = {
  get(shardId: string): string | undefined
  set(shardId: string, sequenceNumber: string): void
}

type ShardReader = ReturnType<typeof openShard>

type Position = { readonly streamArn: string; readonly shardId: string; readonly caller: string }

/** Reads one shard from its checkpoint on. Without a checkpoint it begins at `start`. */
export function openShard(
  gateway: Gateway,
  position: Position,
  checkpoint: string | undefined,
  start: 'TRIM_HORIZON' | 'LATEST',
) {
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

  return {
    shardId: ShardId,
    /** Reads up to `limit` records after the last read. `closed` means that the shard will never have more. */
    read,
  }
}

/** A signal that several readers wait for. */
export type WakeSignal = ReturnType<typeof createWakeSignal>

export function createWakeSignal() {
  const signal = createSignal()
  let waitsSinceRing = Number.POSITIVE_INFINITY
  return {
    ring: () => {
      waitsSinceRing = 0
      signal.announce()
    },
    /**
     * Waits for the signal, but at most `idleMs`. The first waits after a signal last at most `shortWaitsMs`, one after the other.
     * The record that the signal announces may become readable a moment later.
     */
    wait: (idleMs: number, shortWaitsMs: readonly number[]) =>
      signal.next(shortWaitsMs[waitsSinceRing++] ?? idleMs),
  }
}
