import { DeleteCommand, type DynamoDBDocumentClient, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import type { Clock } from '../../../ports/machine.ts'
import type { Targets } from '../../../ports/stores.ts'
import { type BatchReader, readBatches } from '../batch-get.ts'
import { answerOf, conditional, writeAnswer } from '../sending.ts'
import { markerFromItem } from '../side-items.ts'
import { batchGetMarkers, deleteMarker, markerName, putMarker, queryMarkers } from './target-requests.ts'

/** Stores markers of targeted tasks in a DynamoDB table with the keys of `keys.ts`. */
export function createTargets(
  documents: DynamoDBDocumentClient,
  settings: Omit<BatchReader, 'documents'> & { readonly clock: Clock },
): Targets {
  const { table, clock } = settings
  return {
    mark: async marker => {
      await writeAnswer(documents.send(new PutCommand(putMarker(table, marker, clock.now()))))
    },
    of: async (workerId, query) => {
      const request = queryMarkers(table, workerId, query)
      const { Items = [], LastEvaluatedKey } = await answerOf(documents.send(new QueryCommand(request)))
      const markers = Items.flatMap(item => markerFromItem(item, clock.now()) ?? [])
      return { markers, ...(LastEvaluatedKey && { next: LastEvaluatedKey.sk as string }) }
    },
    among: async markers => {
      const different = [...new Map(markers.map(marker => [markerName(marker), marker])).values()]
      const items = await readBatches({ documents, ...settings }, different, batchGetMarkers)
      return items.flatMap(item => markerFromItem(item, clock.now()) ?? [])
    },
    clear: async marker => {
      await conditional(documents.send(new DeleteCommand(deleteMarker(table, marker))), answerOf)
    },
  }
}
