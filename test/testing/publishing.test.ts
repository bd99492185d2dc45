import { expect, it } from 'vitest'
import * as z from 'zod'
import { defineTask } from '../../shared/define/define-task.ts'
import { createTestSystem } from '../../shared/testing/index.ts'

const resize = defineTask('resize', {
  input: z.object({ url: z.string(), width: z.int() }),
  run: async ({ width }, ctx) => {
    ctx.log.info('resized', { width })
    ctx.progress({ done: 1 })
    if (width > 100) await ctx.publish({ type: 'notify', key: ctx.key, input: { width } })
    return { width, at: new Date(0) }
  },
})
const notify = defineTask('notify', { run: () => {} })
const mail = defineTask('mail', { run: (_input, { previous }) => ({ previous: previous ?? null }) })

const aSystem = () => createTestSystem({ tasks: [resize, notify, mail] })

it('the same test has the same ids, and a publish of the same key creates nothing', async () => {
  const ids = async () => {
    const t = await aSystem()
    const answers = [
      await t.publish(resize, { url: 'a', width: 1 }),
      await t.publish(resize, { url: 'a', width: 1 }, { key: 'k' }),
      await t.publish(resize, { url: 'b', width: 2 }, { key: 'k' }),
    ]
    return answers.map(({ id, created }) => [id, created])
  }

  const first = await ids()

  expect(await ids()).toEqual(first)
  expect(first.slice(1)).toEqual([
    ['resize:k', true],
    ['resize:k', false],
  ])
})

it('children, callbacks, logs and results are shown as JSON gives them back', async () => {
  const t = await aSystem()

  await t.publish(resize, { url: 'a', width: 200 }, { key: 'k', onSuccess: [{ type: 'mail', key: 'm' }] })
  await t.runUntilIdle()

  expect(t.task('resize:k').result).toEqual({ width: 200, at: '1970-01-01T00:00:00.000Z' })
  expect(t.children('resize:k').map(({ id, status }) => [id, status])).toEqual([
    ['notify:k', 'succeeded'],
    ['mail:m', 'succeeded'],
  ])
  expect(t.task('mail:m').result).toMatchObject({ previous: { width: 200 } })
  expect(t.logs('resize:k')).toMatchObject([{ level: 'info', message: 'resized', fields: { width: 200 } }])
  expect(t.logs('mail:m')).toEqual([])
})

it('tasks are cancelled, removed, patched and retried as over the API', async () => {
  const t = await aSystem()
  for (const key of ['a', 'b', 'c']) await t.publish(notify, {}, { key, delayMs: 3_600_000 })

  await t.cancel('notify:a')
  await t.remove('notify:b')
  await t.patch('notify:c', { delayMs: 1_000, priority: 5 })
  await t.advance('2s')
  await t.retry('notify:a')
  await t.runUntilIdle()

  expect(t.tasks({ type: notify }).map(({ id, status, priority }) => [id, status, priority])).toEqual([
    ['notify:a', 'succeeded', 0],
    ['notify:c', 'succeeded', 5],
  ])
  await expect(t.cancel('notify:a')).rejects.toMatchObject({ name: 'ProblemError', status: 409 })
  await expect(t.patch('notify:c', { priorty: 1 } as never)).rejects.toThrow("did you mean 'priority'")
  await expect(t.remove('notify:b')).rejects.toMatchObject({ status: 404 })
})

it('a finished task is gone after its retention', async () => {
  const t = await aSystem()
  await t.publish(notify, {}, { key: 'a', retentionMs: 60_000 })

  await t.advance('30s')
  const kept = t.task('notify:a').status
  await t.advance('1m')

  expect(kept).toBe('succeeded')
  expect(() => t.task('notify:a')).toThrow('there is no task notify:a; none is published yet')
})

it('tasks of a type of kind http are claimed by hand', async () => {
  const t = await createTestSystem({ types: { encode: { kind: 'http' } } })
  await t.publish('encode', { file: 'a' }, { key: 'a' })
  await t.publish('encode', { file: 'b' }, { key: 'b' })
  await t.runUntilIdle()

  const [first] = await t.claim('encode', { workerId: 'w1' })
  const [second] = await t.claim('encode', { workerId: 'w2' })
  await first?.heartbeat({ done: 0.5 })
  await first?.succeed({ bytes: 1 })
  await t.advance('20s')

  expect(first?.task).toMatchObject({ id: 'encode:a', input: { file: 'a' } })
  expect(t.task('encode:a')).toMatchObject({ status: 'succeeded', result: { bytes: 1 } })
  expect(t.task('encode:b').runs).toMatchObject([{ state: 'lost', workerId: 'w2' }])
  await expect(second?.succeed()).rejects.toMatchObject({ status: 409 })
  await expect(t.claim('nothing')).rejects.toThrow("'nothing' is not registered")
})

it('calls that are not awaited one by one run in their order', async () => {
  const t = await aSystem()

  await Promise.all([
    t.publish(notify, {}, { key: 'a' }),
    t.advance('1s'),
    t.publish(notify, {}, { key: 'b' }),
  ])

  expect(t.tasks().map(({ id, status }) => [id, status])).toEqual([
    ['notify:a', 'succeeded'],
    ['notify:b', 'ready'],
  ])
})
