import { expect, it } from 'vitest'
import * as z from 'zod'
import { group } from '../../shared/define/canvases.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import { createTestSystem } from '../../shared/testing/index.ts'
import { anApi } from '../support/http/an-api.ts'
import { timed } from '../support/worlds/memory-system.ts'

/** Its API runs in memory here. `jobs` is a type of kind http there. */
const jobs = defineTask('jobs', { input: z.object({ nth: z.int() }), run: () => {} })

async function behindAnApi() {
  const { app, system } = await anApi()
  const t = await createTestSystem({
    tasks: [jobs],
    url: 'http://127.0.0.1/',
    fetch: async request => app.request(request),
  })
  return { t, system }
}

it('tasks are published, claimed, read and changed by the public client', async () => {
  const { t } = await behindAnApi()

  const { id, created } = await t.publish(jobs, { nth: 1 }, { key: 'a' })
  await t.publish(jobs, { nth: 2 }, { key: 'b' })
  const [claimed] = await t.claim(jobs)
  await claimed?.heartbeat({ half: true })
  await claimed?.succeed({ done: true })
  await t.cancel('jobs:b')
  await t.runUntilIdle()

  expect([id, created]).toEqual(['jobs:a', true])
  expect(await t.task('jobs:a')).toMatchObject({ status: 'succeeded', result: { done: true } })
  expect((await t.tasks({ type: jobs })).map(({ key, status }) => [key, status])).toEqual([
    ['a', 'succeeded'],
    ['b', 'cancelled'],
  ])
  expect((await t.tasks({ type: 'jobs', status: 'cancelled' })).map(({ key }) => key)).toEqual(['b'])
  expect(await t.counts(jobs)).toMatchObject({ succeeded: 1, cancelled: 1 })
  expect(await t.children('jobs:a')).toEqual([])
})

it('a run by hand fails, is released, and its task is retried and removed', async () => {
  const { t } = await behindAnApi()
  await t.publish(jobs, { nth: 1 }, { key: 'a', retry: { maxRetries: 0 } })

  await (await t.claim(jobs))[0]?.release()
  await (await t.claim(jobs))[0]?.fail({ name: 'Error', message: 'no answer' })
  const failed = await t.task('jobs:a')
  await t.retry('jobs:a')
  await t.patch('jobs:a', { priority: 3 })
  const again = await t.task('jobs:a')
  await t.remove('jobs:a')

  expect(failed).toMatchObject({ status: 'failed', error: { message: 'no answer' } })
  expect(again).toMatchObject({ status: 'ready', priority: 3 })
  await expect(t.task('jobs:a')).rejects.toMatchObject({ status: 404 })
})

it('types are paused, and schedules are set and read', async () => {
  const { t, system } = await behindAnApi()

  expect(await timed(system, t.pause(jobs))).toEqual({ type: 'jobs', paused: true, revision: 2 })
  expect(await timed(system, t.resume('jobs'))).toEqual({ type: 'jobs', paused: false, revision: 3 })
  expect(await t.schedule('s', { everyMs: 60_000, task: { type: 'jobs' } })).toMatchObject({
    everyMs: 60_000,
  })
  expect(await t.schedule('s')).toMatchObject({ name: 's' })
})

it('waiting for the end names what is still open, and covers canvases', async () => {
  const { t } = await behindAnApi()
  const { id } = await t.publish(group([jobs.with({ nth: 1 })]))

  await expect(t.runUntilIdle({ within: 0 })).rejects.toThrow(`after 0 ms still open: ${id}`)
  await t.cancelCanvas(id)
  await t.runUntilIdle()

  expect(await t.canvas(id)).toMatchObject({ status: 'cancelled' })
})

it('a wrong input is refused before it is sent', async () => {
  const { t } = await behindAnApi()

  await expect(t.publish(jobs, { nth: 'one' } as never)).rejects.toMatchObject({ code: 'invalid' })
})

it('virtual time, faults and the inside of the system are not available', async () => {
  const { t } = await behindAnApi()
  const refused = (name: string) => ({
    name: 'BatonError',
    code: 'refused',
    message: `${name}: not available against a deployed system`,
  })

  await expect(t.advance('1s')).rejects.toMatchObject(refused('advance'))
  await expect(t.sleep('1s')).rejects.toMatchObject(refused('sleep'))
  const throwing: Array<[string, () => unknown]> = [
    ['fail', () => t.fail('jobs:a', 'no')],
    ['kill', () => t.kill('jobs:a')],
    ['freeze', () => t.freeze('jobs:a', '1m')],
    ['takes', () => t.takes('jobs', '1m')],
    ['limits', () => t.limits('jobs')],
    ['logs', () => t.logs()],
    ['now', () => t.now()],
  ]
  for (const [name, call] of throwing) expect(call).toThrow(expect.objectContaining(refused(name)))
})

it('an address that is not a URL is refused', async () => {
  await expect(createTestSystem({ url: 'localhost' })).rejects.toThrow("url: 'localhost' is not a URL")
})
