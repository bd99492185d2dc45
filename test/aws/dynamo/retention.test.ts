import { readFile } from 'node:fs/promises'
import { ScanCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { planChanges } from '../../../shared/runtime/plan/plan-changes.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { createSeededChance } from '../../../shared/testing/chance.ts'
import { type DynamoStores, dynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { type DynamoDbLocal, startDynamoDbLocal } from '../../support/dynamo/dynamodb-local.ts'
import { anApi, claimed, pathOf, published, type Shown, type TestApi } from '../../support/http/an-api.ts'
import { NOW, SECOND } from '../../support/tasks/a-task.ts'

/** Everything that a system leaves in its table goes by itself, but for what `docs/data-model.md` says never does. */

const TABLE_ROWS = /^## Items\n([\s\S]*?)^## /m
const HEADINGS = ['item', '----------']
const LONG = 'x'.repeat(1_000)

let dynamo: DynamoDbLocal
let table: string
let stores: DynamoStores
let api: TestApi
beforeAll(async () => {
  dynamo = await startDynamoDbLocal()
  table = await dynamo.createTable()
  stores = dynamoStores(dynamo.client(), table)
  api = await anApi({ ...stores, chance: createSeededChance(7) })
  // DynamoDB Local deletes what has expired by the time of the machine.
  await api.system.clock.advance(Date.now() - NOW)
})
afterAll(async () => {
  stores.documents.destroy()
  await dynamo.stop()
})

async function items(): Promise<Shown[]> {
  const { Items = [], LastEvaluatedKey } = await stores.documents.send(new ScanCommand({ TableName: table }))
  expect(LastEvaluatedKey).toBeUndefined()
  return Items
}

/** What the planner does with the heads as they stand. */
async function plan(): Promise<void> {
  const ids = (await items()).filter(({ sk }) => sk === 'head').map(({ pk }) => pk)
  const tasks = await api.system.tasks.heads(ids)
  await planChanges(
    api.system,
    tasks.map((task, index) => ({ task, position: String(index) })),
  )
}

/** As the first column of the table in docs/data-model.md names it. */
function kindOf({ pk, sk, state }: Shown): string {
  if (sk === 'head') return state === 'removed' ? 'tombstone' : state === undefined ? 'open head' : 'head'
  const bySort = {
    in: 'input',
    out: 'result',
    run: 'run record',
    prev: 'what was handed on',
    call: 'callbacks',
  }
  const named = bySort[String(sk).split('#')[0] as keyof typeof bySort]
  if (named) return named
  if (String(sk).startsWith('tree#')) return "canvas's tree"
  if (String(sk).startsWith('leaves#')) return "canvas's tasks"
  const byPartition = {
    ends: 'ends of members',
    types: 'task type',
    steps: 'steps of flows',
    record: 'record',
    target: 'marker',
    workers: 'worker',
    starts: 'starts',
    permits: 'permits',
    turns: 'turns of a tenant',
    front: 'front of a line',
  }
  return byPartition[String(pk).split('#')[0] as keyof typeof byPartition] ?? `${pk} ${sk}`
}

/** Rows of the table of items, and whether they say `never`. */
async function documented(): Promise<Map<string, boolean>> {
  const text = await readFile(new URL('../../../docs/data-model.md', import.meta.url), 'utf8')
  const rows = (TABLE_ROWS.exec(text)?.[1] ?? '').split('\n').filter(line => line.startsWith('| '))
  return new Map(
    rows.map(row => {
      const cells = row.split('|').map(cell => cell.trim())
      return [cells[1] ?? '', cells.at(-2) === 'never']
    }),
  )
}

async function finish(requestId: string, how: 'succeed' | 'fail', body: object): Promise<void> {
  const { path, fence } = await claimed(api, { requestId })
  await api.call('POST', `${path}/${how}`, { fence, ...body })
}

/** What waits for turns, or for others to hear of a change, needs time to go by. */
async function passing<T>(work: Promise<T>): Promise<T> {
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await new Promise(resolve => setTimeout(resolve, 10))
    await api.system.clock.advance(100)
  }
  return over
}

/** One run under limits. */
async function runLimited(): Promise<void> {
  const limits = { rate: { limit: 9, perMs: 60_000 }, concurrency: { max: 9 } }
  await api.call('PUT', '/v1/types/limited', { kind: 'http', limits })
  await api.call('POST', '/v1/tasks', { type: 'limited', fairnessKey: 'a' })
  await stores.turns.noteFront('limited#0', 1, api.system.clock.now() + 60 * SECOND)
  const { body } = await passing(api.call('POST', '/v1/claims', { type: 'limited', workerId: 'w1' }))
  expect(body.claims).toHaveLength(1)
}

test('every item that is not to stay for ever expires, as docs/data-model.md says', async () => {
  const step = { name: 'one', do: { type: 'resize' } }
  await api.call('PUT', '/v1/types/order', { kind: 'flow', steps: [step] })
  await api.call('POST', '/v1/tasks', { type: 'order', input: {} })
  await published(api, { key: 'good', input: LONG, onSuccess: [{ type: 'resize', input: LONG }] })
  await finish('r1', 'succeed', { result: LONG })
  await published(api, { key: 'bad', onError: [{ type: 'resize' }] })
  await finish('r2', 'fail', { error: { name: 'Bad', message: LONG }, fatal: true })
  await api.call('DELETE', pathOf(await published(api, { key: 'gone' })))
  await api.call('POST', `${pathOf(await published(api, { key: 'stopped' }))}/cancel`)
  await published(api, { key: 'targeted', workerIds: ['w7'] })
  const pair = { chain: [{ type: 'resize', input: LONG }, { type: 'resize' }] }
  const group = Array.from({ length: 30 }, (_, nth) => (nth % 2 === 0 ? pair : { type: 'resize' }))
  await api.call('POST', '/v1/canvases', { key: 'c', chain: [{ type: 'jobs', priority: 9 }, { group }] })
  await finish('r3', 'succeed', { result: LONG })
  await runLimited()
  await plan()
  await plan()
  await api.system.clock.advance(60 * SECOND)
  await sweep(api.system)

  const found = (await items()).map(item => ({ kind: kindOf(item), never: item.ttl === undefined }))
  const rows = await documented()

  expect([...new Set(found.map(({ kind }) => kind))].sort()).toEqual(
    [...rows.keys(), 'open head'].filter(kind => !HEADINGS.includes(kind)).sort(),
  )
  for (const { kind, never } of found) {
    expect({ kind, never }).toEqual({ kind, never: kind === 'open head' || rows.get(kind) })
  }
})
