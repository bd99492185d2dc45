import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { beforeAll, expect, it } from 'vitest'
import { sdkDocuments } from '../../../shared/aws/dynamo/sdk-documents.ts'
import { createTypeStore } from '../../../shared/aws/dynamo/stores/type-store.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { aDynamo } from '../../support/dynamo/a-dynamo.ts'
import type { DynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { anApi } from '../../support/http/an-api.ts'

const dynamo = aDynamo()
let stores: DynamoStores
beforeAll(async () => {
  stores = await dynamo.newStores()
})

it.each([
  ['without JSON text', { version: 1 }],
  ['with a version that is not a number', { version: 'one', json: '{}' }],
  ['with a text that is not JSON', { version: 1, json: '{' }],
])(
  'a stored type %s is left out of the list and logged, and a read of it names it in the problem',
  async (_name, parts) => {
    const { documents, table, clock } = stores
    const logged: unknown[] = []
    const log = { error: (message: string, fields?: object) => void logged.push({ message, ...fields }) }
    const types = createTypeStore(sdkDocuments(documents), { table, clock, log })
    const api = await anApi({ ...stores, types, chance: createSeededChance(1) })
    await documents.send(
      new PutCommand({ TableName: table, Item: { pk: 'types', sk: 'spoilt', v: 1, ...parts } }),
    )

    const list = await api.call('GET', '/v1/types')
    const one = await api.call('GET', '/v1/types/spoilt')
    const other = await api.call('GET', '/v1/types/jobs')

    expect([list.status, one.status, other.status]).toEqual([200, 500, 200])
    const names = list.body.items.map(({ type }: { type: string }) => type)
    expect(names).toContain('jobs')
    expect(names).not.toContain('spoilt')
    expect(one.body).toMatchObject({ type: 'urn:baton:problem:unreadable' })
    expect(one.body.detail).toContain('the type spoilt cannot be read')
    expect(logged).toEqual([expect.objectContaining({ taskType: 'spoilt', error: expect.any(Error) })])
  },
)
