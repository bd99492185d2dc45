import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { putDefinition } from '../../../../shared/aws/dynamo/head/body-requests.ts'
import { createTaskStore } from '../../../../shared/aws/dynamo/head/task-store.ts'
import { sdkDocuments } from '../../../../shared/aws/dynamo/sdk-documents.ts'
import { withConnectionQueue } from '../../../../shared/aws/requests.ts'
import { create } from '../../../../shared/core/publish.ts'
import { claim } from '../../../../shared/core/run/claim.ts'
import { readTask } from '../../../../shared/runtime/kernel/heads.ts'
import { createSeededChance } from '../../../../shared/testing/stores/chance.ts'
import { type DynamoStores, dynamoStores } from '../../../support/dynamo/dynamo-stores.ts'
import { published, type Shown, type TestApi } from '../../../support/http/an-api.ts'
import { type ApiOnDynamo, anApiOnDynamo } from '../../../support/http/an-api-on-dynamo.ts'
import { aFlow, aPublication, changeOf, MINUTE, NOW, taskIn } from '../../../support/tasks/a-task.ts'

let world: ApiOnDynamo
let stores: DynamoStores
let api: TestApi
beforeAll(async () => {
  world = await anApiOnDynamo(1)
  stores = world.stores
  const documents = sdkDocuments(stores.documents)
  await documents.put(putDefinition(stores.table, { ...aFlow(), name: 'replaced' }))
  api = world.api
})
afterAll(() => world.close())

async function itemOf(id: string): Promise<Shown> {
  const { Item } = await stores.documents.send(
    new GetCommand({ TableName: stores.table, Key: { pk: id, sk: 'head' }, ConsistentRead: true }),
  )
  return Item
}

async function spoil(id: string, parts: object): Promise<void> {
  const Item = { ...(await itemOf(id)), ...parts }
  await stores.documents.send(new PutCommand({ TableName: stores.table, Item }))
}

/** Unreadable heads. No version of the code writes any of these forms. */
const SPOILT: ReadonlyArray<readonly [string, object]> = [
  ['a run map with a foreign entry', { live: { 1: { by: 'w', at: 1, lease: 2 }, polluted: 'yes' } }],
  ['a run that is not a map', { live: { 1: 'yes' } }],
  ['an ended run without a state', { ended: { 1: { by: 'w', at: 1, end: 2 } } }],
  ['options that are not JSON', { options: '{' }],
  ['an input of another form', { input: 7 }],
  ['a time that is a text', { due: 'tomorrow' }],
  ['no birth', { born: 7 }],
  ['a flow whose steps are nowhere', { flow: { def: 'gone' } }],
  [
    'a flow whose steps another program has replaced',
    { kind: 'flow', flow: { def: 'replaced', to: 0, at: 0 } },
  ],
  [
    'the kind of a canvas, which another program wrote',
    { kind: 'canvas', canvas: { leaves: 1, tree: '[]' } },
  ],
]

describe.each(SPOILT)('a head with %s', (_name, parts) => {
  let id = ''
  let healthy = ''
  beforeEach(async () => {
    id = await published(api)
    healthy = await published(api)
    await spoil(id, parts)
  })

  it('is left out of lists, counts and claims, which work without it', async () => {
    const list = await api.call('GET', '/v1/tasks?type=jobs&limit=100')
    const claims = await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w', limit: 100 })
    const counts = await api.call('GET', '/v1/types/jobs/counts')

    expect([list.status, claims.status, counts.status]).toEqual([200, 200, 200])
    const ids = list.body.items.map((item: Shown) => item.id)
    expect(ids).toContain(healthy)
    expect(ids).not.toContain(id)
    const claimed = claims.body.claims.map((claim: Shown) => claim.task.id)
    expect(claimed).toContain(healthy)
    expect(claimed).not.toContain(id)
  })

  it('is named by GET, refuses every change, and is removed by DELETE', async () => {
    const got = await api.call('GET', pathOf('get', id))
    const cancelled = await api.call('POST', `${pathOf('get', id)}/cancel`)
    const removed = await api.call('DELETE', pathOf('get', id))
    const gone = await api.call('GET', pathOf('get', id))
    const again = await api.call('POST', '/v1/tasks', { type: 'jobs', key: id.slice('jobs:'.length) })

    expect(got.body).toMatchObject({ status: 500, type: 'urn:baton:problem:unreadable' })
    expect(got.body.detail).toContain(id)
    expect(cancelled.status).toBe(500)
    expect([removed.status, gone.status, again.status]).toEqual([204, 404, 201])
    expect(await api.call('GET', pathOf('get', id))).toMatchObject({ status: 200, body: { status: 'ready' } })
  })
})

it('each head that is left out is logged with its id, once a minute', async () => {
  const id = await published(api)
  await spoil(id, { due: 'x' })
  const told: unknown[] = []
  const { documents, table, clock } = stores
  const log = { error: (_message: string, fields: object = {}) => void told.push(fields) }
  const tasks = createTaskStore(sdkDocuments(documents), {
    table,
    newWriteId: () => 't',
    clock,
    chance: createSeededChance(1),
    log,
  })

  await tasks.heads([id])
  await tasks.heads([id])
  await clock.advance(MINUTE)
  await tasks.heads([id])

  expect(told).toMatchObject([{ taskId: id }, { taskId: id }])
})

it('a head of newer code is not removed by older code', async () => {
  const id = await published(api)
  await spoil(id, { v: 99 })

  expect(await api.call('DELETE', pathOf('get', id))).toMatchObject({ status: 500 })
  expect(await itemOf(id)).toMatchObject({ v: 99 })
})

it('properties that a handler adds to Object.prototype are not written into heads', async () => {
  const client = withConnectionQueue(() => world.dynamo.client())
  const { tasks } = dynamoStores(client, stores.table)
  const prototype = Object.prototype as Record<string, unknown>
  prototype.polluted = 'yes'
  try {
    const task = taskIn(await tasks.apply(create(aPublication({ key: 'clean' }), undefined, NOW)))
    await tasks.apply(changeOf(claim(task, { workerId: 'w' }, NOW)))
  } finally {
    delete prototype.polluted
    client.destroy()
  }

  expect(JSON.stringify(await itemOf('resize:clean'))).not.toContain('polluted')
  expect(Object.keys((await readTask(stores, 'resize:clean'))?.live ?? {})).toHaveLength(1)
})
