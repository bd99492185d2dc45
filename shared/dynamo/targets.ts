import { DeleteCommand, type DynamoDBDocumentClient, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import type { Clock, Targets } from '../ports.ts'
import { answerOf, conditional } from './sending.ts'
import { markerFromItem } from './side-items.ts'
import { deleteMarker, putMarker, queryMarkers } from './target-requests.ts'

/** Markers of targeted tasks in a DynamoDB table with the keys of `keys.ts`. */
export function createTargets(
  documents: DynamoDBDocumentClient,
  { table, clock }: { readonly table: string; readonly clock: Pick<Clock, 'now'> },
): Targets {
  return {
    mark: async marker => {
      await answerOf(documents.send(new PutCommand(putMarker(table, marker, clock.now()))))
    },
    of: async (workerId, limit) => {
      const request = queryMarkers(table, workerId, limit)
      const { Items = [] } = await answerOf(documents.send(new QueryCommand(request)))
      return Items.flatMap(item => markerFromItem(item, workerId, clock.now()) ?? [])
    },
    clear: async marker => {
      await conditional(documents.send(new DeleteCommand(deleteMarker(table, marker))))
    },
  }
}
