import { readFile } from 'node:fs/promises'
import { ScanCommand } from '@aws-sdk/lib-dynamodb'
import { beforeAll, expect, it } from 'vitest'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { lostMessageOf } from '../../../shared/core/dead-letters.ts'
import { hourOf } from '../../../shared/core/events/failures.ts'
import { viewPartition } from '../../../shared/core/place/place.ts'
import { sweepRecord } from '../../../shared/core/record-names.ts'
import { workOnJob } from '../../../shared/runtime/jobs/jobs.ts'
import { noteLine } from '../../../shared/runtime/limits/line.ts'
import { readNextInPass } from '../../../shared/runtime/repair.ts'
import { planChanges } from '../../../shared/runtime/stream/stream.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { wakeMinute } from '../../../shared/runtime/wake.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { aDynamo } from '../../support/dynamo/a-dynamo.ts'
import type { DynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { anApi, claimed, published, type Shown, type TestApi } from '../../support/http/an-api.ts'
import { aLetter } from '../../support/tasks/a-letter.ts'
import { DAY, HOUR, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'

/**
 * Items that a running system writes expire as `docs/data-model.md` says. The test writes each kind of item and of record that the
 * page lists, and compares the time until each expires with the page wherever the page gives a period.
 */

const ITEMS = /^## Items\n([\s\S]*?)^### /m
const RECORDS = /^### Records\n([\s\S]*?)^## /m
const LONG = 'x'.repeat(1_000)
/** A worker reads its markers in pages of 100. */
const MANY_MARKERS = 101

const dynamo = aDynamo()
let stores: DynamoStores
let api: TestApi
beforeAll(async () => {
  stores = await dynamo.newStores()
  api = await anApi({ ...stores, chance: createSeededChance(7) })
  // DynamoDB Local deletes what has expired by the time of the machine.
  await api.system.clock.advance(Date.now() - NOW)
})

async function items(): Promise<Shown[]> {
  const { Items = [], LastEvaluatedKey } = await stores.documents.send(
    new ScanCommand({ TableName: stores.table }),
  )
  expect(LastEvaluatedKey).toBeUndefined()
  return Items
}

/** Lets the planner work on the stored heads. */
async function plan(): Promise<void> {
  const ids = (await items()).filter(({ sk }) => sk === 'head').map(({ pk }) => pk)
  const tasks = await api.system.tasks.heads(ids)
  await planChanges(
    api.system,
    tasks.map((task, index) => ({ task, position: String(index) })),
  )
}

const KIND_BY_SORT_KEY: Readonly<Record<string, string>> = {
  in: 'input',
  out: 'result',
  run: 'run record',
  prev: 'handed-on value',
  call: 'callbacks',
  tree: 'tree of a canvas',
  leaves: 'tasks of a canvas',
  body: 'chunk of a dead letter',
  lost: 'note of a lost message',
  line: 'note of a line',
}

const KIND_BY_PARTITION: Readonly<Record<string, string>> = {
  ends: 'ends of members',
  types: 'task type',
  steps: 'steps of a flow',
  target: 'marker',
  workers: 'worker',
  'gone-workers': 'worker that is gone',
  starts: 'slots',
  permits: 'permits',
  turns: 'turns of a tenant',
  front: 'front of a line',
  failures: 'count of failures',
  activity: 'activity',
  'dead-letters': 'dead letter',
}

/** As the first column of the tables of docs/data-model.md names it. */
function kindOf({ pk, sk, state }: Shown): string {
  if (sk === 'head') return state === 'removed' ? 'tombstone' : state === undefined ? 'open head' : 'head'
  const [partition = '', record = ''] = String(pk).split('#')
  if (partition === 'record') return `record ${record}`
  const kind = KIND_BY_SORT_KEY[String(sk).split('#')[0] ?? ''] ?? KIND_BY_PARTITION[partition]
  return kind ?? `${pk} ${sk}`
}

/** What the page says of each kind of item and of record: the last cell of its row. */
async function documented(): Promise<Map<string, string>> {
  const text = await readFile(new URL('../../../docs/data-model.md', import.meta.url), 'utf8')
  const items = rowsIn(ITEMS.exec(text)?.[1] ?? '').filter(([kind]) => kind !== 'record')
  const records = rowsIn(RECORDS.exec(text)?.[1] ?? '')
  return new Map([
    ...items.map(([kind = '', ...cells]) => [kind, cells.at(-1) ?? ''] as const),
    ...records.map(([name = '', ...cells]) => [`record ${/[a-z]+/.exec(name)}`, cells.at(-1) ?? ''] as const),
  ])
}

/** The cells of a table's rows, without its two heading lines. */
function rowsIn(section: string): string[][] {
  const lines = section.split('\n').filter(line => line.startsWith('|'))
  const rows = lines.slice(2).map(line => line.split('|').slice(1, -1))
  return rows.map(cells => cells.map(cell => cell.trim()))
}

const UNIT_MS: Readonly<Record<string, number>> = {
  s: SECOND,
  hour: HOUR,
  hours: HOUR,
  day: DAY,
  days: DAY,
  week: 7 * DAY,
}

/** The period with which a cell begins (`60 days, renewed …`, `a week after …`); undefined when it gives none. */
function periodMs(cell: string): number | undefined {
  const [, count, unit = ''] = /^(\d+|an?) (\w+)\b/.exec(cell) ?? []
  const unitMs = UNIT_MS[unit]
  if (count === undefined || unitMs === undefined) return undefined
  return (Number(count) || 1) * unitMs
}

async function finish(requestId: string, how: 'succeed' | 'fail', body: object): Promise<void> {
  const { path, fence } = await claimed(api, { requestId })
  await api.call('POST', `${path}/${how}`, { fence, ...body })
}

/** Moves the clock while `work` waits for turns or for a change to spread. */
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

/** Starts one run under limits, and notes that tasks wait in the line of one. */
async function runLimited(): Promise<void> {
  const limits = { rate: { limit: 9, perMs: 60_000 }, concurrency: { max: 9 } }
  await api.call('PUT', '/v1/types/limited', { kind: 'http', limits })
  await api.call('POST', '/v1/tasks', { type: 'limited', fairnessKey: 'a' })
  await stores.failures.add({
    ...{ type: 'jobs', error: 'Error: #', hour: hourOf(api.system.clock.now()), count: 1 },
    ...{ firstAt: 0, lastAt: api.system.clock.now(), exampleId: 'jobs:a' },
  })
  await stores.turns.noteFront('limited#0', 1, api.system.clock.now() + 7 * DAY)
  const { body } = await passing(api.call('POST', '/v1/claims', { type: 'limited', workerId: 'w1' }))
  expect(body.claims).toHaveLength(1)
  await noteLine(api.system, { kind: 'slot', limit: 'limited' })
}

/** Stores a dead letter with its note, and counts the activity of a minute, as the sweeper and the planner do. */
async function loseMessage(): Promise<void> {
  const now = api.system.clock.now()
  const letter = aLetter({ arrivedAt: now, sentAt: now })
  await stores.deadLetters.put(letter, LONG.repeat(3))
  const lost = lostMessageOf(letter)
  if (lost) await stores.deadLetters.note(lost)
  const minute = Math.floor(now / MINUTE) * MINUTE
  await stores.activity.add({ type: 'jobs', minute, counts: { published: 1 }, lateness: {} })
}

/** Publishes more markers of one worker than a page holds, and claims, which reads a page. */
async function pageThroughMarkers(): Promise<void> {
  const bodies = Array.from({ length: MANY_MARKERS }, () => ({
    type: 'jobs',
    workerIds: ['w8'],
    priority: 1,
  }))
  for (const body of bodies) await api.call('POST', '/v1/tasks', body)
  await plan()
  await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w8' })
}

/** Starts a purge and works on one of its messages. */
async function purge(): Promise<void> {
  const { status } = await api.call('POST', '/v1/types/order/purge', { status: ['succeeded'] })
  expect(status).toBe(202)
  const look = api.system.messages.jobLooks.find(({ job }) => job.kind === 'purge')
  if (look) await workOnJob(api.system, look, Number.POSITIVE_INFINITY)
}

/** Does everything that leaves items in the table. */
async function workOfEveryKind(): Promise<void> {
  const step = { name: 'one', do: { type: 'resize' } }
  await api.call('PUT', '/v1/types/order', { kind: 'flow', steps: [step], inputSchema: {} })
  await api.call('POST', '/v1/tasks', { type: 'order', input: {} })
  await published(api, { key: 'good', input: LONG, onSuccess: [{ type: 'resize', input: LONG }] })
  await finish('r1', 'succeed', { result: LONG })
  await published(api, { key: 'bad', onError: [{ type: 'resize' }] })
  await finish('r2', 'fail', { error: { name: 'Bad', message: LONG }, fatal: true })
  await api.call('DELETE', pathOf('get', await published(api, { key: 'gone' })))
  await api.call('POST', `${pathOf('get', await published(api, { key: 'stopped' }))}/cancel`)
  await published(api, { key: 'targeted', workerIds: ['w7'] })
  const pair = { chain: [{ type: 'resize', input: LONG }, { type: 'resize' }] }
  const group = Array.from({ length: 30 }, (_, nth) => (nth % 2 === 0 ? pair : { type: 'resize' }))
  await api.call('POST', '/v1/canvases', { key: 'c', chain: [{ type: 'jobs', priority: 9 }, { group }] })
  await finish('r3', 'succeed', { result: LONG })
  await runLimited()
  await plan()
  await plan()
  await loseMessage()
  await pageThroughMarkers()
  await purge()
  await api.call('POST', '/v1/bulk', { action: 'retry', type: 'order', status: 'failed' })
  await wakeMinute(api.system, Math.floor(api.system.clock.now() / MINUTE))
  await api.system.clock.advance(MINUTE)
  await sweep(api.system)
  // The round has removed the workers that were silent during that minute.
  await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w9' })
  // A round that stops after one task leaves a cursor.
  await readNextInPass(
    api.system,
    sweepRecord.open('jobs', 0),
    { index: 'view', partition: viewPartition('jobs', 'open', 0) },
    1,
  )
}

it('every item expires as docs/data-model.md says, and the page lists every kind', async () => {
  const begin = api.system.clock.now()

  await workOfEveryKind()

  const end = api.system.clock.now()
  const found = (await items()).map(item => ({ kind: kindOf(item), ttl: item.ttl as number | undefined }))
  const expiry = await documented()
  expect([...new Set(found.map(({ kind }) => kind))].sort()).toEqual([...expiry.keys(), 'open head'].sort())
  for (const { kind, ttl } of found) {
    const cell = kind === 'open head' ? 'never' : (expiry.get(kind) ?? '')
    expect({ kind, isKept: ttl === undefined }).toEqual({ kind, isKept: cell === 'never' })
    const period = periodMs(cell)
    if (ttl === undefined || period === undefined) continue
    // A period begins with a write, or with the minute of a record.
    expect(ttl * 1_000, `${kind} expires ${cell}`).toBeGreaterThanOrEqual(begin + period - MINUTE)
    expect(ttl * 1_000, `${kind} expires ${cell}`).toBeLessThanOrEqual(end + period + MINUTE)
  }
})
