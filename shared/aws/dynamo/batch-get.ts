import type { Chance, Clock } from '../../ports/machine.ts'
import { type BatchGetRequest, type Documents, unavailable } from './documents.ts'
import type { Item } from './stored-form.ts'

export type BatchReader = {
  readonly documents: Documents
  readonly table: string
  readonly clock: Pick<Clock, 'sleep'>
  readonly chance: Pick<Chance, 'fraction'>
}

/** BatchGetItem takes 100 keys. Source: DynamoDB API reference. */
const BATCH_KEYS_MAX = 100
const BATCHES_AT_ONCE_MAX = 8
const BATCH_ROUNDS_MAX = 8
const FIRST_PAUSE_MS = 25

/** Reads the items that `requestOf` asks for, up to 100 in a request, and returns them in no order. `wanted` has no duplicates. */
export async function readBatches<Wanted>(
  reader: BatchReader,
  wanted: readonly Wanted[],
  requestOf: (table: string, some: readonly Wanted[]) => BatchGetRequest,
): Promise<Item[]> {
  const starts = Array.from(
    { length: Math.ceil(wanted.length / BATCH_KEYS_MAX) },
    (_, index) => index * BATCH_KEYS_MAX,
  )
  const found: Item[][] = []
  const left = starts.values()
  const lane = async () => {
    for (const start of left) {
      const some = wanted.slice(start, start + BATCH_KEYS_MAX)
      found.push(await readBatch(reader, requestOf(reader.table, some)))
    }
  }
  await Promise.all(Array.from({ length: Math.min(BATCHES_AT_ONCE_MAX, starts.length) }, lane))
  return found.flat()
}

/** Asks again for the keys that DynamoDB leaves unprocessed, after pauses that double. */
async function readBatch({ documents, clock, chance }: BatchReader, first: BatchGetRequest): Promise<Item[]> {
  const found: Item[] = []
  let request = first
  for (let round = 0; round < BATCH_ROUNDS_MAX; round++) {
    const { items, left } = await documents.batchGet(request)
    found.push(...items)
    if (!left) return found
    request = { ...request, RequestItems: left }
    await clock.sleep(FIRST_PAUSE_MS * 2 ** round * (0.5 + chance.fraction() / 2))
  }
  throw unavailable(`${BATCH_ROUNDS_MAX} requests in a row left keys unprocessed`)
}
