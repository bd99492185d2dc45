import { expect, it } from 'vitest'
import type { LocalFunction } from '../../../local/functions/local-function.ts'
import { newMappingState } from '../../../local/mappings/mapping.ts'
import { createWakeSignal, runShard } from '../../../local/mappings/shard-loop.ts'
import type { StreamRecord } from '../../../local/mappings/stream-batch.ts'

type Event = { readonly Records: readonly StreamRecord[] }

/** A record of an item, at a position in the shard. */
function aRecord(pk: string, position: number): StreamRecord {
  const dynamodb = {
    ...{
      Keys: { pk: { S: pk } },
      SequenceNumber: String(position),
      SizeBytes: 1,
      StreamViewType: 'NEW_IMAGE',
    },
    ApproximateCreationDateTime: Date.now() / 1_000,
  }
  const source = { eventSource: 'aws:dynamodb', awsRegion: 'us-east-1', eventVersion: '1.1' }
  return { eventID: String(position), eventName: 'MODIFY', ...source, dynamodb }
}

/** Reads a closed shard with these records. `invoke` is the function. */
async function readShard(
  records: readonly StreamRecord[],
  parallelization: number,
  invoke: (event: Event) => Promise<void>,
) {
  const target = {
    arn: 'arn',
    invoke: async (event: Event) => {
      await invoke(event)
      return { ok: true, requestId: '1', payload: { batchItemFailures: [] } }
    },
  } as unknown as LocalFunction
  const rules = { retries: -1, maxAgeS: -1, bisects: true, reportsItemFailures: true }
  const shard = { streamArn: 'arn', shardId: 'shard' }
  const checkpoints = new Map<string, string>()
  await runShard({
    ...{ batchSize: 2, parallelization, windowMs: 0, filters: [], log: () => {}, bell: createWakeSignal() },
    reader: { ...shard, read: async () => ({ records, closed: true }) },
    batches: { ...rules, ...shard, target, state: newMappingState(), reportLost: async () => {} },
    checkpoints: {
      get: id => checkpoints.get(id),
      set: (id, position) => void checkpoints.set(id, position),
    },
  })
  return checkpoints.get('shard')
}

const items = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

it('with a parallelization factor, two batches of a shard are under way at a time', async () => {
  let underWay = 0
  let meet = () => {}
  const met = new Promise<void>(resolve => {
    meet = resolve
  })

  const position = await readShard(
    items.map((pk, index) => aRecord(pk, index)),
    2,
    async () => {
      underWay += 1
      if (underWay === 2) meet()
      // One batch at a time would wait here for ever.
      await met
      underWay -= 1
    },
  )

  expect(position).toBe('7')
})

it('the changes of one item stay in order, in whichever batches they are', async () => {
  const records = Array.from({ length: 40 }, (_, index) => aRecord(items[index % 4] ?? '', index))
  const seen: number[] = []

  await readShard(records, 4, async ({ Records }) => {
    for (const { dynamodb } of Records) seen.push(Number(dynamodb.SequenceNumber))
    await new Promise(resolve => setTimeout(resolve, 1))
  })

  expect(seen.toSorted((a, b) => a - b)).toEqual(records.map((_, index) => index))
  for (const item of [0, 1, 2, 3]) {
    const own = seen.filter(position => position % 4 === item)
    expect(own).toEqual(own.toSorted((a, b) => a - b))
  }
})

it('without a factor, one batch is under way at a time, as Lambda does', async () => {
  let [underWay, most] = [0, 0]

  await readShard(
    items.map((pk, index) => aRecord(pk, index)),
    1,
    async () => {
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise(resolve => setTimeout(resolve, 1))
      underWay -= 1
    },
  )

  expect(most).toBe(1)
})
