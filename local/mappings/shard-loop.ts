import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Pattern, passesFilters } from './event-pattern.ts'
import type { Checkpoints, ShardReader } from './shard-reader.ts'
import { type BatchSetting, deliverStreamBatch } from './stream-batch.ts'
import type { StreamRecord } from './stream-records.ts'
import type { WakeSignal } from './wake-signal.ts'

/** The most records that one GetRecords returns. */
const READ_RECORDS_MAX = 1000
/** Lambda polls each shard about four times per second. A write that the gateway sees wakes the reader earlier. */
const IDLE_POLL_MS = 250
/** A record can be read shortly after its write was answered. These are the waits between the reader's attempts. */
const WAITS_AFTER_WRITE_MS = [0, 1, 2, 4, 8, 15]
const PAUSE_POLL_MS = 20

export type ShardLoop = {
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

async function deliver(records: readonly StreamRecord[], { reader, batches, batchSize }: ShardLoop) {
  for (let at = 0; at < records.length; at += batchSize) {
    const batch = records.slice(at, at + batchSize)
    if (!(await deliverStreamBatch(batch, reader.shardId, batches))) return false
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
