import { CHUNK_LEAVES } from '../../../core/canvas/layout.ts'
import type { CanvasEnds, CanvasName, CanvasStore } from '../../../ports/stores.ts'
import type { BatchReader, Documents, Item, RequestOf } from '../documents.ts'
import { assertKnownSchema, readBatches } from '../documents.ts'
import { chunkOfEnds, ENDS_SORT_KEY, endsPartition } from '../keys.ts'
import { updateItem } from '../requests.ts'

/** Stores the ends of canvases' members in a DynamoDB table with the keys of `keys.ts`. */
export function createCanvasStore(
  documents: Documents,
  settings: Omit<BatchReader, 'documents'>,
): CanvasStore {
  const reader: BatchReader = { documents, ...settings }
  return {
    addEnds: async (canvas, chunk, ends, expiresAt) => {
      const request = addEnds(settings.table, canvas, chunk, { ends, expiresAt })
      return endsFromItem((await documents.update(request)).item, chunk)
    },
    ends: async (canvas, chunks) => {
      const different = [...new Set(chunks)]
      const items = await readBatches(reader, different, (table, some) => batchGetEnds(table, canvas, some))
      for (const item of items) assertKnownSchema(item)
      const byChunk = new Map(items.map(item => [chunkFromItem(item), item]))
      return new Map(different.map(chunk => [chunk, endsFromItem(byChunk.get(chunk), chunk)]))
    },
  }
}

/** Two sets: the leaves that succeeded, and those that ended otherwise. A leaf is stored as its number in its chunk: three bytes. */
const ATTRIBUTES = { ok: 'ok', bad: 'bad' } as const

/** Adds ends to a chunk and returns the whole chunk. No guard: adding a leaf again adds nothing. */
export function addEnds(
  table: string,
  canvas: CanvasName,
  chunk: number,
  { ends, expiresAt }: { readonly ends: CanvasEnds; readonly expiresAt: number },
): RequestOf<'update'> {
  const added = Object.values(ATTRIBUTES).filter(name => ends[name].length > 0)
  const sets = added.map(name => [name, new Set(ends[name].map(leaf => leaf % CHUNK_LEAVES))])
  const update = updateItem(table, chunkKey(canvas, chunk), { expiresAt, add: Object.fromEntries(sets) })
  return { ...update, ReturnValues: 'ALL_NEW' }
}

/** Reads at most 100 different chunks. Strongly consistent. */
export function batchGetEnds(
  table: string,
  canvas: CanvasName,
  chunks: readonly number[],
): RequestOf<'batchGet'> {
  const Keys = chunks.map(chunk => chunkKey(canvas, chunk))
  return { RequestItems: { [table]: { Keys, ConsistentRead: true } } }
}

function chunkKey({ canvasId, born }: CanvasName, chunk: number) {
  return { pk: endsPartition(canvasId, born, chunk), sk: ENDS_SORT_KEY }
}

export function chunkFromItem(item: Item): number {
  return chunkOfEnds(String(item.pk))
}

export function endsFromItem(item: Item | undefined, chunk: number): CanvasEnds {
  return { ok: leavesIn(item?.ok, chunk), bad: leavesIn(item?.bad, chunk) }
}

function leavesIn(set: unknown, chunk: number): number[] {
  const numbers = set instanceof Set ? [...(set as Set<number>)] : []
  return numbers.map(number => Number(number) + chunk * CHUNK_LEAVES).sort((a, b) => a - b)
}
