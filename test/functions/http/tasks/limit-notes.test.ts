import { beforeEach, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../support/http/an-api.ts'
import { MINUTE } from '../../../support/tasks/a-task.ts'

/** What a publish and `why` say about a task that lacks the key of a limit. */

let api: TestApi
beforeEach(async () => {
  api = await anApi()
  const limits = {
    rate: { limit: 1, perMs: 60_000, key: 'customerId' },
    concurrency: { max: 1, key: 'userId' },
  }
  await api.call('PUT', '/v1/types/mail', { kind: 'http', limits })
})

const note = (key: string, id = 'mail:a') =>
  `A limit of mail counts by ${key}, which ${id} lacks: all tasks without it share one limit.`

const publish = async (body: object) =>
  (await api.call('POST', '/v1/tasks', { type: 'mail', key: 'a', ...body })).body

it('a publish names each key that the task lacks, and nothing else', async () => {
  expect((await publish({ input: { to: 'b' } })).notes).toEqual([note('customerId'), note('userId')])
  expect((await publish({ key: 'b', input: { customerId: 7 }, userId: 'u' })).notes).toBeUndefined()
})

it('an input that is stored apart is judged like a small one', async () => {
  const text = 'x'.repeat(1_000)

  expect((await publish({ userId: 'u', input: { text } })).notes).toEqual([note('customerId')])
  const b = { key: 'b', userId: 'u', input: { text, customerId: 'c' } }
  expect((await publish(b)).notes).toBeUndefined()
  // Whether the input has the key of a changed limit is not known without reading it.
  const changing = api.call('PUT', '/v1/types/mail', {
    kind: 'http',
    limits: { concurrency: { max: 1, key: 'other' } },
  })
  await api.system.clock.advance(MINUTE)
  await changing
  expect((await publish(b)).notes).toBeUndefined()
})

it('each task of a batch has its own notes', async () => {
  const tasks = [
    { type: 'mail', key: 'a', userId: 'u' },
    { type: 'jobs', key: 'b' },
  ]

  const { body } = await api.call('POST', '/v1/tasks/batch', { tasks })

  expect(body.results.map(({ notes }: { notes?: string[] }) => notes)).toEqual([
    [note('customerId')],
    undefined,
  ])
})

it('the answer for a key that exists is about the task that has it', async () => {
  await publish({ userId: 'u', input: { customerId: 'c' } })

  expect(await publish({})).not.toHaveProperty('notes')
})

it('a flow is judged by its own type and by the type of its present step', async () => {
  const steps = [{ name: 'send', do: { type: 'mail' } }]
  await api.call('PUT', '/v1/types/order', {
    kind: 'flow',
    steps,
    limits: { rate: { limit: 1, perMs: 1_000, key: 'sku' }, concurrency: { max: 1, key: 'sku' } },
  })

  const { body } = await api.call('POST', '/v1/tasks', { type: 'order', key: 'a', userId: 'u', input: {} })

  expect(body.notes).toEqual([
    'A limit of order counts by sku, which order:a lacks: all tasks without it share one limit.',
    note('customerId', 'order:a'),
  ])
})

it('why says so while the task is open', async () => {
  await publish({ userId: 'u' })
  const why = async () => (await api.call('GET', '/v1/tasks/mail:a/why')).body.sentence

  expect(await why()).toMatch(new RegExp(`\\. ${note('customerId')}$`))
  await api.call('POST', '/v1/tasks/mail:a/cancel')
  expect(await why()).not.toContain('counts by')
})
