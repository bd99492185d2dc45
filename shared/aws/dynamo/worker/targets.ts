import type { Clock } from '../../../ports/machine.ts'
import type { Targets } from '../../../ports/stores.ts'
import { type BatchReader, readBatches } from '../batch-get.ts'
import type { Documents } from '../documents.ts'
import { markerFromItem } from '../side-items.ts'
import { batchGetMarkers, deleteMarker, markerName, putMarker, queryMarkers } from './target-requests.ts'

/** Stores markers of targeted tasks in a DynamoDB table with the keys of `keys.ts`. */
export function createTargets(
  documents: Documents,
  settings: Omit<BatchReader, 'documents'> & { readonly clock: Clock },
): Targets {
  const { table, clock } = settings
  return {
    mark: async marker => {
      await documents.put(putMarker(table, marker, clock.now()))
    },
    of: async (workerId, query) => {
      const { items, next } = await documents.query(queryMarkers(table, workerId, query))
      const markers = items.flatMap(item => markerFromItem(item, clock.now()) ?? [])
      return { markers, ...(next && { next: next.sk as string }) }
    },
    among: async markers => {
      const different = [...new Map(markers.map(marker => [markerName(marker), marker])).values()]
      const items = await readBatches({ documents, ...settings }, different, batchGetMarkers)
      return items.flatMap(item => markerFromItem(item, clock.now()) ?? [])
    },
    clear: async marker => {
      await documents.delete(deleteMarker(table, marker))
    },
  }
}
