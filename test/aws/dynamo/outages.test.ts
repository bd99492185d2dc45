import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  DynamoDBClient,
  type DynamoDBClientConfig,
  ResourceNotFoundException,
} from '@aws-sdk/client-dynamodb'
import { describe, expect, it } from 'vitest'
import { create } from '../../../shared/core/publish.ts'
import { isItemFault } from '../../../shared/core/values/values.ts'
import { aDynamo } from '../../support/dynamo/a-dynamo.ts'
import { dynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { anApi } from '../../support/http/an-api.ts'
import { aPublication, NOW } from '../../support/tasks/a-task.ts'

const dynamo = aDynamo()

const UNAVAILABLE = expect.objectContaining({ code: 'unavailable', cause: expect.any(Error) })

/** A client of an address at which no server listens, unless another one is given. */
function deafClient(maxAttempts: number, more: DynamoDBClientConfig = {}): DynamoDBClient {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  const endpoint = 'http://127.0.0.1:1'
  return new DynamoDBClient({ endpoint, region: 'us-east-1', maxAttempts, credentials, ...more })
}

/** A client whose every request meets `failure` before it leaves. */
function failingClient(failure: Error): DynamoDBClient {
  const client = deafClient(1)
  client.middlewareStack.add(
    () => async () => {
      throw failure
    },
    { step: 'finalizeRequest', priority: 'low' },
  )
  return client
}

const answered = (name: string, httpStatusCode: number) =>
  Object.assign(new Error('no'), { name, $metadata: { httpStatusCode } })

describe('the table', () => {
  it('is unavailable when no server listens', async () => {
    const { tasks, types, records } = dynamoStores(deafClient(2), 'tasks')

    await expect(tasks.head('a:b')).rejects.toThrow(UNAVAILABLE)
    await expect(tasks.apply(create(aPublication(), undefined, NOW))).rejects.toThrow(UNAVAILABLE)
    await expect(tasks.renewBody('a:b', 'in', NOW)).rejects.toThrow(UNAVAILABLE)
    await expect(types.list()).rejects.toThrow(UNAVAILABLE)
    await expect(records.put('a', 1, NOW)).rejects.toThrow(UNAVAILABLE)
  })

  it.each([
    ['ProvisionedThroughputExceededException', 400],
    ['ThrottlingException', 400],
    ['RequestLimitExceeded', 400],
    ['InternalServerError', 500],
    ['ServiceUnavailable', 503],
  ])('is unavailable when it answers %s beyond the retries', async (name, status) => {
    const { tasks } = dynamoStores(failingClient(answered(name, status)), 'tasks')

    await expect(tasks.head('a:b')).rejects.toThrow(UNAVAILABLE)
  })

  it('is unavailable to a write that a transaction on the same item refuses for the moment', async () => {
    const { tasks } = dynamoStores(failingClient(answered('TransactionConflictException', 400)), 'tasks')

    await expect(tasks.apply(create(aPublication(), undefined, NOW))).rejects.toThrow(UNAVAILABLE)
  })

  it.each(['ValidationException', 'SerializationException'])(
    'is available when it answers %s, which is the fault of the one item',
    async name => {
      const { tasks } = dynamoStores(failingClient(answered(name, 400)), 'tasks')

      const failure = await tasks
        .apply(create(aPublication(), undefined, NOW))
        .catch((error: unknown) => error)

      expect(failure).toMatchObject({ code: 'unstorable', cause: { name } })
      expect(isItemFault(failure)).toBe(true)
    },
  )

  it('is available when it refuses a read or a deletion, and the error is thrown unchanged', async () => {
    const refused = answered('ValidationException', 400)
    const { tasks, targets } = dynamoStores(failingClient(refused), 'tasks')
    const query = { index: 'owner', partition: 'user#a' } as const

    await expect(tasks.head('a:b')).rejects.toBe(refused)
    await expect(tasks.heads(['a:b'])).rejects.toBe(refused)
    await expect(tasks.page({ ...query, limit: 1 })).rejects.toBe(refused)
    await expect(tasks.count(query)).rejects.toBe(refused)
    await expect(targets.clear({ workerId: 'w', taskId: 'a:b', born: 'b', revision: 1 })).rejects.toBe(
      refused,
    )
  })

  it('is not at fault when the SDK cannot turn content into attributes', async () => {
    const { tasks } = dynamo.storesOf('tasks')

    const failure = await tasks
      .apply(create(aPublication({ dueAt: Number.NaN }), undefined, NOW))
      .catch(String)

    expect(failure).toContain('the table refuses to store the item')
  })

  it.each([
    ['is available when it answers AccessDeniedException', answered('AccessDeniedException', 400), false],
    ['is not at fault when the code throws', new TypeError('no'), true],
  ])('%s, and the error is thrown unchanged', async (_case, failure, isOfItem) => {
    const { tasks } = dynamoStores(failingClient(failure), 'tasks')

    await expect(tasks.head('a:b')).rejects.toBe(failure)
    expect(isItemFault(failure)).toBe(isOfItem)
  })

  it('is available when the table is missing, and the error is thrown unchanged', async () => {
    const { tasks } = dynamo.storesOf('no-such-table')

    await expect(tasks.head('a:b')).rejects.toThrow(ResourceNotFoundException)
  })
})

it('the API names the table, the call and the wait when the table holds its answers back', async () => {
  const holding = createServer()
  await new Promise<void>(resolve => holding.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(holding.address() as AddressInfo).port}`
  const requestHandler = { requestTimeout: 50, throwOnRequestTimeout: true }
  const client = deafClient(1, { endpoint, requestHandler })
  const api = await anApi({ tasks: dynamoStores(client, 'Tasks-1').tasks })

  const read = await api.call('GET', '/v1/tasks/jobs:a')
  const published = await api.call('POST', '/v1/tasks', { type: 'jobs' })

  const waited = (what: string) =>
    new RegExp(
      `^the table does not answer: ${what} on Tasks-1 failed after \\d+\\.\\d s \\(TimeoutError\\); try again in a moment$`,
    )
  expect([read.status, published.status]).toEqual([503, 503])
  expect(read.body.detail).toMatch(waited('GetItem'))
  expect(published.body.detail).toMatch(waited('(Put|Update)Item'))
  client.destroy()
  holding.closeAllConnections()
  holding.close()
})

describe('keys that DynamoDB leaves unprocessed', () => {
  /** A client that leaves all but the first key of each batch unprocessed, as long as `rounds` lasts. */
  function slowClient(rounds: number): DynamoDBClient {
    const client = dynamo.newClient()
    client.middlewareStack.add(
      next => async args => {
        const input = args.input as { RequestItems?: Record<string, { Keys: unknown[] }> }
        const [table, request] = Object.entries(input.RequestItems ?? {})[0] ?? []
        if (!table || !request || rounds <= 0) return next(args)
        rounds -= 1
        const [first, ...rest] = request.Keys
        const asked = { ...input, RequestItems: { [table]: { Keys: [first] } } }
        const result = await next({ ...args, input: asked as typeof args.input })
        const UnprocessedKeys = { [table]: { Keys: rest } }
        return { ...result, output: { ...result.output, UnprocessedKeys } as typeof result.output }
      },
      { step: 'initialize', priority: 'low' },
    )
    return client
  }

  it.each([
    ['are requested again until all are read', 4],
    ['make the read fail as unavailable when they stay unprocessed', 1_000],
  ])('%s', async (_name, rounds) => {
    const client = slowClient(rounds)
    const stores = dynamoStores(client, await dynamo.createTable())
    const keys = Array.from({ length: 12 }, (_, position) => `k${position}`)
    for (const key of keys) await stores.tasks.apply(create(aPublication({ key }), undefined, NOW))

    const reading = stores.tasks.heads(keys.map(key => `resize:${key}`)).catch((error: unknown) => error)
    let isOver = false
    reading.then(() => {
      isOver = true
    })
    while (!isOver) await stores.clock.advance(5_000)

    const found = await reading
    if (rounds > 12) expect(found).toMatchObject({ code: 'unavailable' })
    else expect(found).toHaveLength(12)
    client.destroy()
  })
})

it('a count continues where one request ends, after 1 MB of keys', async () => {
  const client = dynamo.newClient()
  let queries = 0
  client.middlewareStack.add((next, { commandName }) => args => {
    if (commandName === 'QueryCommand') queries += 1
    return next(args)
  })
  const { tasks } = dynamoStores(client, await dynamo.createTable())
  const userId = 'u'.repeat(2_000)
  for (let batch = 0; batch < 30; batch++) {
    const keys = Array.from({ length: 20 }, (_, position) => `${batch}-${position}`.padEnd(200, 'k'))
    await Promise.all(keys.map(key => tasks.apply(create(aPublication({ key, userId }), undefined, NOW))))
  }
  queries = 0

  expect(await tasks.count({ index: 'owner', partition: `user#${userId}` })).toBe(600)
  expect(queries).toBeGreaterThan(1)
  client.destroy()
})
