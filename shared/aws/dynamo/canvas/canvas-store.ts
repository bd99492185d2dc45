import type { CanvasStore } from '../../../ports/stores.ts'
import { type BatchReader, readBatches } from '../batch-get.ts'
import type { Documents } from '../documents.ts'
import { assertKnownSchema } from '../stored-form.ts'
import { addEnds, batchGetEnds, chunkFromItem, endsFromItem } from './canvas-requests.ts'

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
