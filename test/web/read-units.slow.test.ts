import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb'
import { expect, it } from 'vitest'
import { prices } from '../../local/gateway/meter.ts'
import { headItem } from '../../shared/aws/dynamo/head/items.ts'
import { activityExpiresAt, MINUTE_MS } from '../../shared/core/events/activity.ts'
import { runningPlace, viewPartition } from '../../shared/core/place/place.ts'
import { taskPage } from '../../web/api/merged-lists.ts'
import {
  ACTIVITY_MS,
  ATTENTION_MS,
  COUNTED_MAX,
  LIST_MS,
  MANY_COUNTS_MS,
  SLOW_MS,
  UNTOUCHED_FACTOR,
} from '../../web/api/paces.ts'
import { stringifySearch } from '../../web/api/search.ts'
import type { DynamoStores } from '../support/dynamo/dynamo-stores.ts'
import { aMeteredDynamo } from '../support/dynamo/metered-dynamo.ts'
import { anApi, type TestApi } from '../support/http/an-api.ts'
import { aTask } from '../support/tasks/a-task.ts'

/**
 * What the pages of many tasks cost: a page of the tasks of 50 types; and, for a deployed system of 20 types and 100,000 open tasks, a
 * tab with the overview that is open for a day, of which it is used for an hour.
 */

const TYPES = Array.from({ length: 20 }, (_, nth) => `type-${nth}`)
/** The shards that a type has unless it asks for others. */
const SHARDS = 4
const OPEN_OF_TYPE = 5_000
const RUNNING_OF_TYPE = 1_000
const ENDED_OF_TYPE = 1_000
const HOUR_MS = 3_600_000
/** A page that is not touched asks less often. */
const HOURS = 1 + 23 / UNTOUCHED_FACTOR
const USD_MAX = 0.05
/** Each question is one request to API Gateway and one invocation of the API of up to this long, with this much memory. */
const CALL_MS = 300
const CALL_GB = 0.5

/** The questions of the overview, and their paces. `/local/cost` is asked once, since a deployed system does not have it. */
const QUESTIONS = [
  [`/v1/counts?atMost=${COUNTED_MAX}&limit=100`, MANY_COUNTS_MS],
  ['/v1/activity?limit=100', ACTIVITY_MS],
  ['/v1/types?limit=100', SLOW_MS],
  ['/v1/schedules?limit=100', SLOW_MS],
  ['/v1/workers?limit=100', SLOW_MS],
  ['/v1/failures?limit=100', ATTENTION_MS],
  ['/v1/attention', ATTENTION_MS],
] as const

const dynamo = aMeteredDynamo()

/** A type that is not a flow has four buckets: open, succeeded, failed and cancelled. */
const BUCKETS = 4
const LISTED_TYPES = 50
const LIST_TASKS = 50
const DAY_MS = 86_400_000

it('a page of the tasks of 50 types reads half a unit of each partition, and 50 heads for each ten types', async () => {
  const stores = dynamo.storesOf(await dynamo.createTable())
  const api = await anApi({ ...stores })
  const types = many(LISTED_TYPES, nth => `type-${nth}`)
  for (const type of types) await api.call('PUT', `/v1/types/${type}`, { kind: 'http' })
  const now = api.system.clock.now()
  const states = ['open', 'succeeded', 'failed', 'cancelled'] as const
  const heads = many(LISTED_TYPES * 48, nth => {
    const [shard, state] = [Math.floor(nth / LISTED_TYPES) % SHARDS, states[Math.floor(nth / 200) % BUCKETS]]
    const at = now - nth
    const head = {
      type: types[nth % LISTED_TYPES] ?? '',
      key: `order-of-shop-${nth}`,
      shard,
      kind: 'http' as const,
    }
    return headItem(
      aTask({
        ...head,
        state: state ?? 'open',
        dueAt: at,
        updatedAt: at,
        ...(state !== 'open' && { finishedAt: at, expiresAt: now + DAY_MS }),
      }),
    )
  })
  await putAll(stores, heads)
  dynamo.takeByKind()

  const page = await taskPage(
    async filter => (await api.call('GET', `/v1/tasks${stringifySearch(filter as never)}`)).body,
    { type: types, order: '-ended' },
  )

  const { reads } = dynamo.takeByKind()
  const usd = (DAY_MS / (5 * LIST_MS)) * (reads * prices.readUnit + 5 * callCost())
  console.log(
    `a page of the tasks of ${LISTED_TYPES} types: ${reads} units, $${usd.toFixed(2)} for an open day`,
  )
  expect(page.items.map(({ id }) => id)).toEqual(heads.slice(0, LIST_TASKS).map(({ pk }) => pk))
  const [partitions, read] = [LISTED_TYPES * SHARDS * BUCKETS, (LISTED_TYPES / 10) * LIST_TASKS]
  // Each type is read for the list and for the reasons of its open tasks, and the workers once for each request.
  expect(reads).toBeLessThanOrEqual(partitions * 0.5 + read * 0.5 + 2 * LISTED_TYPES + 5)
})

/** This one is the last: DynamoDB Local, with the memory that it has, becomes slow once it holds so many items. */
it('an open overview costs at most $0.05 a day', async () => {
  const stores = dynamo.storesOf(await dynamo.createTable())
  const api = await anApi({ ...stores })
  await fill(stores, api)
  dynamo.takeByKind()
  const costs: Array<readonly [string, number, number]> = []

  for (const [path, paceMs] of QUESTIONS) {
    const { status } = await api.call('GET', path)
    expect(status).toBe(200)
    const { reads, writes } = dynamo.takeByKind()
    expect(writes).toBe(0)
    costs.push([path, reads, ((HOURS * HOUR_MS) / paceMs) * (reads * prices.readUnit + callCost())])
  }

  const total = costs.reduce((sum, [, , usd]) => sum + usd, 0)
  console.log(`an open overview for a day: $${total.toFixed(4)}`, costs)
  expect(total).toBeLessThan(USD_MAX)
})

function callCost(): number {
  const gbSeconds = (CALL_MS / 1_000) * CALL_GB
  return prices.apiRequest + prices.lambdaInvocation + gbSeconds * prices.lambdaGbSecond
}

/** Puts the index entries of all tasks, and an hour of activity, into the table. Heads have more attributes, which no count reads. */
async function fill(stores: DynamoStores, { call, system }: TestApi): Promise<void> {
  const now = system.clock.now()
  for (const type of TYPES) {
    await call('PUT', `/v1/types/${type}`, { kind: 'http' })
    const items = [
      ...many(OPEN_OF_TYPE, nth => entry(type, 'open', nth, now + (nth % 2 === 0 ? HOUR_MS : -HOUR_MS))),
      ...many(ENDED_OF_TYPE, nth => entry(type, 'succeeded', nth, now)),
      ...many(ENDED_OF_TYPE, nth => entry(type, 'failed', nth, now)),
    ]
    for (const item of items.filter(({ vsk }) => vsk < now).slice(0, RUNNING_OF_TYPE)) {
      Object.assign(item, { ppk: runningPlace(type, 0), psk: String(now) })
    }
    const minutes = many(60, nth => ({
      pk: `activity#${type}`,
      sk: String(now - (now % MINUTE_MS) - nth * MINUTE_MS).padStart(14, '0'),
      v: 1,
      ttl: activityExpiresAt({ minute: now }),
      ...{ published: 1_000, started: 1_000, succeeded: 900, failed: 100, cancelled: 10 },
      ...Object.fromEntries(many(12, kind => [`late${kind}`, 80])),
    }))
    await putAll(stores, [...items, ...minutes])
  }
}

function entry(type: string, bucket: Parameters<typeof viewPartition>[1], nth: number, at: number) {
  const id = `${type}:${bucket}-order-of-shop-${String(nth).padStart(8, '0')}`
  return { pk: id, sk: 'head', vpk: viewPartition(type, bucket, nth % SHARDS), vsk: at }
}

async function putAll({ documents, table }: DynamoStores, items: readonly object[]): Promise<void> {
  const batches = many(Math.ceil(items.length / 25), nth => items.slice(nth * 25, nth * 25 + 25))
  for (let at = 0; at < batches.length; at += 8) {
    await Promise.all(
      batches.slice(at, at + 8).map(batch =>
        documents.send(
          new BatchWriteCommand({
            RequestItems: { [table]: batch.map(Item => ({ PutRequest: { Item } })) },
          }),
        ),
      ),
    )
  }
}

function many<Item>(count: number, make: (nth: number) => Item): Item[] {
  return Array.from({ length: count }, (_, nth) => make(nth))
}
