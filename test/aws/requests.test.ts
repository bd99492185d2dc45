import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { withConnectionQueue } from '../../shared/aws/requests.ts'

/** Longer than a busy machine takes to connect to itself. */
const CONNECTION_TIMEOUT_MS = 3_000

/** A server that answers its first requests after others have waited longer than that. It counts requests under way. */
const server = createServer(async (request, response) => {
  underWay += 1
  most = Math.max(most, underWay)
  request.resume()
  await over
  underWay -= 1
  response.setHeader('content-type', 'application/x-amz-json-1.0').end('{"TableNames":[]}')
})
const over = sleep(CONNECTION_TIMEOUT_MS + 500)
let underWay = 0
let most = 0
let endpoint: string

beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

it('a request may wait for a free connection for longer than the connection timeout', async () => {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  const options = { endpoint, region: 'eu-central-1', credentials, maxAttempts: 1 }
  const client = withConnectionQueue(
    handler => {
      const requestHandler = { ...handler, connectionTimeout: CONNECTION_TIMEOUT_MS, requestTimeout: 60_000 }
      return new DynamoDBClient({ ...options, requestHandler })
    },
    { connections: 4 },
  )

  const answers = await Promise.all(Array.from({ length: 64 }, () => client.send(new ListTablesCommand({}))))
  client.destroy()

  expect(answers.map(({ TableNames }) => TableNames)).toEqual(Array(64).fill([]))
  expect(most).toBe(4)
})
