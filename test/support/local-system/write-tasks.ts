import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { BatchWriteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { headItem } from '../../../shared/aws/dynamo/head/items.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { LocalSystem } from './local-system.ts'

const BATCH_ITEMS = 25
const BATCHES_AT_ONCE = 8

/** Writes the heads of `count` tasks into the table of a local system, which is faster than publishing them. */
export async function writeTasks(
  { cloud }: LocalSystem,
  count: number,
  taskOf: (nth: number) => Task,
): Promise<void> {
  const { clientOptions, outputs } = cloud
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient(clientOptions as object))
  const starts = [...Array(Math.ceil(count / BATCH_ITEMS)).keys()].map(nth => nth * BATCH_ITEMS).values()
  const lane = async () => {
    for (const start of starts) {
      const size = Math.min(BATCH_ITEMS, count - start)
      const items = Array.from({ length: size }, (_, nth) => ({
        PutRequest: { Item: headItem(taskOf(start + nth)) },
      }))
      await documents.send(new BatchWriteCommand({ RequestItems: { [outputs.TableName as string]: items } }))
    }
  }
  await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, lane))
}
