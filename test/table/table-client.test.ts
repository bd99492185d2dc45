import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type ApiTask, listQuery } from '../../shared/api/tasks.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import { cancelTask } from '../../shared/runtime/operate/operate.ts'
import { createTableClient } from '../../shared/table/table-client.ts'
import { setEnvironment } from '../support/process-environment.ts'
import { aTableWorld, type TableWorld } from '../support/worlds/a-table-world.ts'

const resize = defineTask('resize', {
  input: z.object({ url: z.string() }),
  run: () => ({ bytes: 1 }),
})
const INPUT = { url: 'cat.png' }
const HOUR = 3_600_000

let world: TableWorld
beforeAll(async () => {
  world = await aTableWorld()
  await world.register('resize', resize.config)
  await world.register('jobs', { kind: 'http', defaults: {}, limits: { rate: { limit: 1, perMs: 1_000 } } })
})
afterAll(() => world?.stop())

const all = async (tasks: AsyncIterable<ApiTask>) => {
  const ids: string[] = []
  for await (const { id } of tasks) ids.push(id)
  return ids
}

describe('a publish', () => {
  it('creates a task, and answers the existing one the second time', async () => {
    const first = await world.client.publish(resize, INPUT, { key: 'a', delayMs: HOUR })
    const second = await world.client.publish('resize', { url: 'dog.png' }, { key: 'a' })

    expect(first).toMatchObject({ id: 'resize:a', created: true, task: { status: 'delayed', input: INPUT } })
    expect(second).toMatchObject({ id: 'resize:a', created: false })
    expect(await world.client.get('resize:a')).toMatchObject({ input: INPUT })
  })

  it('takes a body, and applies ifExists', async () => {
    await world.client.publish({ ...resize.with(INPUT), key: 'b', delayMs: HOUR })

    await world.client.publish({
      type: 'resize',
      key: 'b',
      input: { url: 'new' },
      delayMs: HOUR,
      ifExists: 'update',
    })

    expect(await world.client.get('resize:b')).toMatchObject({ input: { url: 'new' } })
  })

  it.each<[string, object, number, string]>([
    ['an unknown type', { type: 'resise' }, 404, 'type'],
    ['an unknown field', { type: 'resize', delay: 1 }, 400, 'delay'],
    ['two due times', { type: 'resize', delayMs: 1, dueAt: '2030-01-01T00:00:00Z' }, 400, 'delayMs'],
    ['a long input', { type: 'resize', input: 'x'.repeat(360_000) }, 413, 'input'],
    [
      'long callbacks',
      { type: 'resize', onError: [{ type: 'resize', input: 'x'.repeat(360_000) }] },
      413,
      'onError',
    ],
  ])('is refused for %s, as over HTTP', async (_what, body, status, path) => {
    const publish = world.client.publish(body as never)

    await expect(publish).rejects.toMatchObject({
      name: 'ProblemError',
      status,
      problem: { errors: [{ path }] },
    })
  })

  it('refuses an input that JSON cannot hold', async () => {
    const publish = world.client.publish({ type: 'resize', input: { size: 1n } } as never)

    await expect(publish).rejects.toMatchObject({
      ...{ name: 'ProblemError', status: 400 },
      problem: { detail: expect.stringContaining('the body is not JSON: ') },
    })
  })

  it('says what the schema of the definition does not accept', async () => {
    const publish = world.client.publish(resize, {} as never)

    await expect(publish).rejects.toMatchObject({ status: 400, problem: { errors: [{ path: 'input.url' }] } })
  })
})

describe('a list', () => {
  it('yields the tasks of a type page by page, and of one status or several', async () => {
    for (const key of ['1', '2', '3']) await world.client.publish({ type: 'jobs', key, delayMs: HOUR })
    await cancelTask(world.system, 'jobs:2')

    expect((await all(world.client.list({ type: 'jobs', limit: 1 }))).sort()).toEqual([
      'jobs:1',
      'jobs:2',
      'jobs:3',
    ])
    expect(await all(world.client.list({ type: 'jobs', status: 'cancelled' }))).toEqual(['jobs:2'])
    expect(
      await all(world.client.list({ type: 'jobs', status: ['delayed', 'running'], order: 'due' })),
    ).toEqual(['jobs:1', 'jobs:3'])
  })

  it('yields the tasks of a user', async () => {
    await world.client.publish({ type: 'jobs', key: 'u', userId: 'anna', delayMs: HOUR })

    expect(await all(world.client.list({ userId: 'anna' }))).toEqual(['jobs:u'])
  })

  it.each<[object, number, string]>([
    [{ type: 'job' }, 404, 'type'],
    [{ type: 'jobs', state: 'failed' }, 400, 'state'],
    [{ type: 'jobs', status: 'done' }, 400, 'status'],
    [{ type: 'jobs', limit: 0 }, 400, 'limit'],
    [{ type: 'jobs', cursor: 'x' }, 400, 'cursor'],
  ])('of %j is refused, and the field is named', async (filter, status, path) => {
    const first = world.client.list(filter as never).next()

    await expect(first).rejects.toMatchObject({
      name: 'ProblemError',
      status,
      problem: { errors: [{ path }] },
    })
  })

  it('knows every filter that the HTTP API knows', () => {
    const unknown = Object.keys(listQuery.shape).filter(name =>
      listQuery.problems({ [name]: null }, '').some(({ message }) => message.includes('is not a field here')),
    )

    expect(unknown).toEqual([])
  })

  it('of an unknown canvas is refused', async () => {
    const first = world.client.list({ canvasId: 'canvas:none' }).next()

    await expect(first).rejects.toMatchObject({ status: 404 })
  })
})

describe('a result', () => {
  it('of a task that does not end in time, that was cancelled, or that is unknown is a problem', async () => {
    const waiting = await world.client.publish(resize, INPUT, { key: 'r', delayMs: HOUR })

    await expect(waiting.result({ timeoutMs: 1 })).rejects.toMatchObject({ status: 408 })
    await cancelTask(world.system, waiting.id)
    await expect(world.client.result(resize, { key: 'r' })).rejects.toMatchObject({ status: 409 })
    await expect(world.client.result(resize, 'resize:none')).rejects.toMatchObject({ status: 404 })
  })
})

it.each(['resize', 'resize:', 'resize:none', 'canvas:none', `resize:${'x'.repeat(3_000)}`, 'resize:a\u0000'])(
  'a read of %j answers 404, also when no task can have this id',
  async id => {
    await expect(world.client.get(id)).rejects.toMatchObject({ name: 'ProblemError', status: 404 })
  },
)

it('a read of no id is refused', async () => {
  await expect(world.client.get('')).rejects.toMatchObject({ name: 'ProblemError', status: 400 })
})

describe('a client', () => {
  it('has five methods', () => {
    expect(Object.keys(world.client).sort()).toEqual(['get', 'list', 'publish', 'result', 'transactItems'])
  })

  it('without a table names the variable that grantPublish sets', () => {
    expect(() => createTableClient()).toThrow(/BATON_TABLE/)
  })

  it('finds its table in the environment', async () => {
    const restore = setEnvironment({ BATON_TABLE: world.table })
    const client = createTableClient()
    restore()

    expect(await client.get('resize:a')).toMatchObject({ id: 'resize:a' })
  })

  it('answers 503 when the table does not answer, with the cause', async () => {
    const restore = setEnvironment({ AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:1', AWS_MAX_ATTEMPTS: '1' })
    const client = createTableClient({ table: world.table, region: 'eu-west-1' })
    const calls = [
      () => client.get('resize:a'),
      () => client.publish(resize, INPUT),
      () => client.transactItems(resize, INPUT),
      () => client.list({ type: 'resize' }).next(),
      () => client.result(resize, 'resize:a'),
    ]

    for (const call of calls) {
      const refused = { name: 'ProblemError', status: 503, cause: { code: 'unavailable' } }
      await expect(call()).rejects.toMatchObject(refused)
    }
    restore()
  })

  it('throws errors of the SDK about the table itself as they are', async () => {
    const client = createTableClient({ table: 'no-such-table' })

    await expect(client.get('resize:a')).rejects.toMatchObject({ name: 'ResourceNotFoundException' })
  })
})
