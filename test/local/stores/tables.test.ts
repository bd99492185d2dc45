import { expect, it } from 'vitest'
import type { Gateway } from '../../../local/gateway/gateway.ts'
import { deployTables } from '../../../local/stores/tables.ts'
import type { Stack } from '../../../local/template/stack.ts'

const KEY = [{ AttributeName: 'PK', KeyType: 'HASH' }]
const PROPERTIES = {
  TableName: 'things',
  KeySchema: KEY,
  AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }],
  GlobalSecondaryIndexes: [{ IndexName: 'byPK', KeySchema: KEY, Projection: { ProjectionType: 'ALL' } }],
}

/** A stack with one table, and a store that has the table without its index. Its descriptions fail as `failures` says. */
function aStore(failures: string[]) {
  const stack = {
    ids: () => ['Things'],
    describe: () => ({ physicalId: 'things' }),
    properties: () => PROPERTIES,
    learn: () => {},
  } as unknown as Stack
  let isUpdated = false
  const gateway = {
    call: async (_caller: string, _service: string, operation: string) => {
      if (operation === 'ListTables') return { TableNames: ['things'] }
      if (operation === 'UpdateTable') isUpdated = true
      const failure = operation === 'DescribeTable' && isUpdated ? failures.shift() : undefined
      if (failure) throw new Error(`dynamodb DescribeTable answered 500: {"__type":"${failure}"}`)
      const Table = { ...PROPERTIES, GlobalSecondaryIndexes: [], TableStatus: 'ACTIVE' }
      return { Table, TableDescription: Table, TimeToLiveDescription: { TimeToLiveStatus: 'DISABLED' } }
    },
  } as unknown as Gateway
  return deployTables(stack, gateway, [])
}

it('a deployment goes on when DynamoDB Local cannot describe a table whose index it makes', async () => {
  const failures = Array.from({ length: 3 }, () => 'com.amazonaws.dynamodb.v20120810#InternalFailure')
  await aStore(failures)
  expect(failures).toEqual([])
})

it('a deployment ends with any other refusal, and names the table', async () => {
  await expect(aStore(['AccessDenied'])).rejects.toThrow(
    'The table things cannot be deployed: dynamodb DescribeTable answered 500: {"__type":"AccessDenied"}',
  )
})
