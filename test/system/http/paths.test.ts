import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient } from '../../../shared/client/client.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

/** These tests send ids through a gateway that decodes paths as API Gateway does, and cuts them at a decoded question mark. */

/** Keys that change when a path is decoded, and the key of the task that the changed path would reach. */
const KEYS: ReadonlyArray<readonly [key: string, neighbour: string | undefined]> = [
  ['a#b', 'a'],
  ['g?h', 'g'],
  ['c\\d', 'c/d'],
  ['e/../f', 'e/f'],
  ['x%41', 'xA'],
  ['a/cancel', 'a'],
  ['..', undefined],
  ['https://example.com/a?b=c&d=é#e', 'https://example.com/a'],
  ['日本 語', undefined],
  ['~YQ', 'a'],
]
/** Keys that arrive, percent-encoded, as names that no safe id has. Those of `g?h` and `a/cancel` arrive as other requests. */
const UNSAFE_KEYS = ['a#b', 'c\\d', 'e/../f', 'x%41']

const system = aLocalSystem()
let client: Client
beforeAll(async () => {
  client = createClient({ url: system.cloud.apiUrl })
  await client.putType('paths', { kind: 'http' })
})
const publish = (key: string) =>
  system.call('POST', '/v1/tasks', { type: 'paths', key, input: { key }, ifExists: 'restart' })

/** Expects that the task was neither cancelled nor removed. */
async function expectUntouched(key: string) {
  expect(await client.get(`paths:${key}`)).toMatchObject({ key, input: { key }, status: 'ready' })
}

describe.each(KEYS)('the key %j', (key: string, neighbour: string | undefined) => {
  const id = `paths:${key}`

  it('is published, read, cancelled and removed by the client, and the neighbour stays', async () => {
    if (neighbour !== undefined) await publish(neighbour)
    const { id: publishedId } = await client.publish({ type: 'paths', key, input: { key } })

    expect(publishedId).toBe(id)
    expect(await client.get(id)).toMatchObject({ id, input: { key } })
    expect((await client.patch(id, { priority: 3 })).priority).toBe(3)
    expect((await client.cancel(id)).status).toBe('cancelled')
    expect((await client.retry(id)).status).toBe('ready')
    await client.remove(id)
    await expect(client.get(id)).rejects.toMatchObject({ status: 404 })
    if (neighbour !== undefined) await expectUntouched(neighbour)
  })

  it('is read, cancelled and removed by the path in Location, and the neighbour stays', async () => {
    if (neighbour !== undefined) await publish(neighbour)
    const { headers } = await publish(key)
    const path = headers.get('location') ?? ''

    expect((await system.call('GET', path)).body).toMatchObject({ id, input: { key } })
    expect((await system.call('POST', `${path}/cancel`)).body.task).toMatchObject({ id, status: 'cancelled' })
    expect((await system.call('DELETE', path)).status).toBe(204)
    expect((await system.call('GET', path)).status).toBe(404)
    if (neighbour !== undefined) await expectUntouched(neighbour)
  })
})

it.each(UNSAFE_KEYS)(
  'the key %j percent-encoded is a 400 for every method, and changes nothing',
  async key => {
    await publish(key)
    const path = `/v1/tasks/${encodeURIComponent(`paths:${key}`)}`

    const answers = await Promise.all([
      system.call('GET', path),
      system.call('DELETE', path),
      system.call('PATCH', path, { priority: 1 }),
      system.call('POST', `${path}/cancel`),
    ])

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400])
    expect(answers[0]?.body).toMatchObject({ type: 'urn:baton:problem:invalid', errors: [{ path: 'id' }] })
    await expectUntouched(key)
  },
)

it('a run of a task with a strange key is kept and finished by the client', async () => {
  await client.putType('runs', { kind: 'http' })
  await client.publish({ type: 'runs', key: 'a/runs/../#?' })
  const { claims } = await client.claim({ type: 'runs', workerId: 'w' })
  const { task, run } = claims[0] ?? expect.fail('nothing was claimed')

  await client.heartbeat(task.id, run.id, { fence: run.fence })

  expect((await client.succeed(task.id, run.id, { fence: run.fence, result: 1 })).status).toBe('succeeded')
})

it('the client reaches schedules, canvases and types whose names a URL would change, and no others', async () => {
  const schedule = { everyMs: 3_600_000, task: { type: 'paths' } }
  for (const name of ['..', 'a/pause', 'ü?x#y']) {
    const put = await client.putSchedule(name, schedule)
    expect([put.name, (await client.pauseSchedule(name)).paused]).toEqual([name, true])
    await client.removeSchedule(name)
    await expect(client.schedule(name)).rejects.toMatchObject({ status: 404 })
  }
  const { id } = await client.publish({ group: [{ type: 'paths' }] }, { key: 'a/../b' })
  expect((await client.cancelCanvas(id)).status).toBe('cancelled')
  expect(await client.putType('..', { kind: 'http' })).toMatchObject({ type: '..' })
  expect((await client.types()).items.map(({ type }) => type)).toContain('..')
})
