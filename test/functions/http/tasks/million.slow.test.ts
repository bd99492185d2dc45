import { beforeAll, describe, expect, it } from 'vitest'
import { type HeadItem, headItem } from '../../../../shared/aws/dynamo/head/items.ts'
import { createActivityStore } from '../../../../shared/aws/dynamo/stores/activity-store.ts'
import { createDeadLetterStore } from '../../../../shared/aws/dynamo/stores/dead-letter-store.ts'
import { storesOn } from '../../../../shared/aws/dynamo/stores/stores.ts'
import { STATUSES } from '../../../../shared/core/states.ts'
import { createSeededChance } from '../../../../shared/testing/stores/chance.ts'
import { createMemoryTable } from '../../../../shared/testing/table/memory-table.ts'
import { anApi, type TestApi } from '../../../support/http/an-api.ts'
import { createManualClock } from '../../../support/ports/clock.ts'
import { aTask, NOW, SECOND } from '../../../support/tasks/a-task.ts'

/** Lists of a million tasks of 50 types, in memory. Each type has more tasks of each kind than an order in memory may sort. */

const TASKS = 1_000_000
const TYPES = 50
const SHARDS = 4
const STATES = ['open', 'failed', 'succeeded', 'succeeded', 'cancelled'] as const

let api: TestApi
/** How many items and entries the table has given since the last look. */
let read = 0

beforeAll(async () => {
  const onRead = ({ items }: { readonly items: readonly unknown[] }) => {
    read += items.length
  }
  const table = createMemoryTable({ name: 't', onRead })
  const chance = createSeededChance(1)
  const settings = { table: 't', clock: createManualClock(NOW), chance, newWriteId: () => 'w' }
  api = await anApi({
    ...storesOn(table.documents, settings),
    activity: createActivityStore(table.documents, settings),
    deadLetters: createDeadLetterStore(table.documents, settings),
  })
  const store = (after: HeadItem) => table.write({ key: after, before: undefined, after })
  for (let nth = 0; nth < TYPES; nth++) await api.call('PUT', `/v1/types/type-${nth}`, { kind: 'http' })
  for (let nth = 0; nth < TASKS; nth++) store(headItem(taskOf(nth)))
}, 600_000)

/** Every second open task is delayed. Later ones are due and end later, so that each is put at the end of its partition. */
function taskOf(nth: number) {
  const ofType = Math.floor(nth / TYPES)
  const state = STATES[ofType % STATES.length] ?? 'open'
  const isDelayed = state === 'open' && ofType % 2 === 0
  const at = NOW + nth - (isDelayed ? 0 : TASKS)
  return aTask({
    ...{ type: `type-${nth % TYPES}`, key: `order-${ofType}`, kind: 'http', ordering: 'priority' },
    ...{ shard: ofType % SHARDS, state, dueAt: at + SECOND, createdAt: at, updatedAt: at },
    ...(state !== 'open' && { finishedAt: at }),
    ...(state === 'failed' && { error: { name: 'TimeoutError', message: 'no answer of the shop' } }),
  })
}

const TEN = Array.from({ length: 10 }, (_, nth) => `type=type-${nth}`).join('&')

describe('of 1,000,000 tasks of 50 types', () => {
  it.each(
    ['', 'type=type-7', TEN].flatMap(types => [
      types,
      ...STATUSES.map(status => `${types}&status=${status}`),
      `${types}&status=ready&status=failed`,
      `${types}&status=running&status=compensating`,
      `${types}&status=failed&error=timeout`,
    ]),
  )('a list with %j and no order is answered, from few entries', async query => {
    read = 0

    const { status, body } = await api.call('GET', `/v1/tasks?limit=50&${query}`)

    expect(status).toBe(200)
    const isOfNone = /status=(running|compensating)/.test(query)
    expect(body.items).toHaveLength(isOfNone ? 0 : 50)
    // Every partition of 50 types gives some entries, and the page its heads. The search for running tasks looks at 1,000.
    expect(read).toBeLessThan(TYPES * SHARDS * 4 * 26 + 50 + (isOfNone ? 2_500 : 0))
  })

  it('an order that no index has is refused, with the orders that work', async () => {
    const created = await api.call('GET', '/v1/tasks?type=type-7&order=-created')
    const due = await api.call('GET', '/v1/tasks?order=due&status=failed')

    expect([created.status, due.status]).toEqual([400, 400])
    expect(created.body.detail).toContain('order by ended or -ended')
    expect(due.body.detail).toContain('are listed by ended or -ended')
  })

  it('a search finds all tasks with a key, of every type', async () => {
    read = 0

    const { body } = await api.call('GET', '/v1/search?q=order-17&limit=100')

    expect(body.items).toHaveLength(TYPES)
    expect(new Set(body.matches)).toEqual(new Set(['key']))
    expect(read).toBeLessThan(200)
  })
})
