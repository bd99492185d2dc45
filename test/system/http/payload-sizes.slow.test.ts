import { beforeAll, expect, it } from 'vitest'
import { type Client, createClient } from '../../../shared/client/client.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

/** These tests send requests through a gateway and functions with the size limits of API Gateway and Lambda. */

const system = aLocalSystem()
let client: Client
beforeAll(async () => {
  client = createClient({ url: system.cloud.apiUrl })
  await client.putType('sizes', { kind: 'http' })
})
it('98 tasks of 64 KB are claimed in answers that fit the limits, and none is lost', async () => {
  const rows = Array.from({ length: 900 }, (_, n) => ({
    id: `ord-${n}`,
    name: 'Blue shirt',
    tags: ['new', 'sale'],
  }))
  await client.publishMany(
    Array.from({ length: 98 }, (_, n) => ({ type: 'sizes', key: `${n}`, input: { rows } })),
  )

  const seen = new Set<string>()
  while (seen.size < 98) {
    const { claims } = await client.claim({ type: 'sizes', workerId: 'w', limit: 100, waitMs: 5_000 })
    for (const { task, run } of claims) {
      seen.add(task.id)
      await client.succeed(task.id, run.id, {
        fence: run.fence,
        result: (task.input as { rows: [] }).rows.length,
      })
    }
  }

  const first = await client.get('sizes:0')
  expect(first).toMatchObject({ status: 'succeeded', result: 900, attempts: { used: 1 } })
})

it('a body of 4 MB is accepted; a longer one, and one whose event is too large, are 413', async () => {
  const tasks = (count: number, text: string) =>
    JSON.stringify({
      tasks: Array.from({ length: count }, (_, n) => ({ type: 'sizes', key: `${text[0]}${n}`, input: text })),
    })
  const plain = 'x'.repeat(340_000)

  const taken = await system.call('POST', '/v1/tasks/batch', tasks(12, plain))
  const tooLong = await system.call('POST', '/v1/tasks/batch', tasks(13, plain))
  const tooLarge = await system.call('POST', '/v1/tasks/batch', tasks(12, '"'.repeat(170_000)))

  expect([taken.status, taken.body.results.length]).toEqual([200, 12])
  expect([tooLong.status, tooLong.body.type]).toEqual([413, 'urn:baton:problem:too-large'])
  expect([tooLarge.status, tooLarge.body]).toMatchObject([413, { message: 'Request Entity Too Large' }])
})

it('a task whose results are too long for an answer is shown without the results of its runs', async () => {
  const text = '"'.repeat(175_000)
  await client.putType('many', { kind: 'http' })
  await client.publish({ type: 'many', key: 'k', concurrency: 12 })
  for (let n = 0; n < 12; n++) {
    const { claims } = await client.claim({ type: 'many', workerId: `w${n}`, waitMs: 5_000 })
    const { task, run } = claims[0] ?? expect.fail('nothing was claimed')
    await client.succeed(task.id, run.id, { fence: run.fence, result: text })
  }

  const task = await client.get('many:k')

  expect(task).toMatchObject({ status: 'succeeded', result: text, omitted: ['runs.result'] })
  expect(task.runs).toHaveLength(12)
})
