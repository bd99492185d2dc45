import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { expect, it } from 'vitest'
import { readBatches } from '../../../shared/aws/dynamo/documents.ts'
import { sdkDocuments } from '../../../shared/aws/dynamo/sdk-documents.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { createManualClock } from '../../support/ports/clock.ts'

it('a batch read returns all wanted items, with at most eight requests under way', async () => {
  const client = new DynamoDBClient({ region: 'local' })
  let [underWay, most] = [0, 0]
  client.middlewareStack.add(
    () => async args => {
      most = Math.max(most, ++underWay)
      await new Promise(resolve => setImmediate(resolve))
      underWay--
      const { Keys } = (args.input as { RequestItems: { tasks: { Keys: unknown[] } } }).RequestItems.tasks
      return { response: {}, output: { $metadata: {}, Responses: { tasks: Keys } } as never }
    },
    { step: 'initialize', priority: 'low' },
  )
  const documents = sdkDocuments(DynamoDBDocumentClient.from(client))
  const reader = { documents, table: 'tasks', clock: createManualClock(0), chance: createSeededChance(1) }
  const wanted = Array.from({ length: 2_050 }, (_, n) => `k${n}`)

  const items = await readBatches(reader, wanted, (table, some) => ({
    RequestItems: { [table]: { Keys: some.map(pk => ({ pk })) } },
  }))

  expect(items.map(({ pk }) => pk).toSorted()).toEqual(wanted.toSorted())
  expect(most).toBe(8)
  client.destroy()
})
