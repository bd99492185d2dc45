import { expect, it } from 'vitest'
import { readTask } from '../../../../shared/runtime/kernel/heads.ts'
import { wakeTasks } from '../../../../shared/runtime/wake.ts'
import { anApiPerTest, claimed, expectRefused, published, type Shown } from '../../../support/http/an-api.ts'
import { SECOND } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()
const line = (second: number, text: string) => `2026-01-01T12:00:0${second}.000Z INFO ${text}`

async function log(after?: string): Promise<Shown> {
  const { status, body } = await api.call('GET', `/v1/tasks/jobs:a/log${after ? `?after=${after}` : ''}`)
  expect(status).toBe(200)
  return { ...body, lines: body.lines.map(({ text }: Shown) => text) }
}

it('the log of a running task is followed over heartbeats, each line once, until the task has failed', async () => {
  await published(api, { key: 'a', liveLog: true })
  const { path, fence } = await claimed(api)
  const beat = (...lines: string[]) => api.call('POST', `${path}/heartbeat`, { fence, log: lines.join('\n') })

  const before = await log()
  await beat(line(1, 'one'))
  const first = await log(before.next)
  await beat(line(1, 'one'), line(1, 'one again\nin two lines'), line(2, 'two'))
  const second = await log(first.next)
  const error = { name: 'E', message: 'no' }
  const all = [line(1, 'one'), line(1, 'one again\nin two lines'), line(2, 'two'), line(3, 'three')]
  await api.call('POST', `${path}/fail`, { fence, fatal: true, error, log: all.join('\n') })
  const third = await log(second.next)

  expect(before).toEqual({ lines: [], next: '1.0.0', complete: false })
  expect(first.lines).toEqual([line(1, 'one')])
  expect(second.lines).toEqual([line(1, 'one again\nin two lines'), line(2, 'two')])
  expect(third).toMatchObject({ lines: [line(3, 'three')], complete: true })
  expect(await log()).toMatchObject({ lines: all, next: third.next })
})

it('the logs of runs that run at the same time are followed side by side, also after one of them has ended', async () => {
  await published(api, { key: 'a', liveLog: true, concurrency: 2 })
  const [one, two] = [await claimed(api, { workerId: 'one' }), await claimed(api, { workerId: 'two' })]
  const beat = ({ path, fence }: typeof one, text: string) =>
    api.call('POST', `${path}/heartbeat`, { fence, log: text })
  await beat(two, line(2, 'second run'))

  const first = await log()
  await beat(one, line(1, 'first run'))
  const second = await log(first.next)
  const failure = { fence: one.fence, error: { name: 'E', message: 'no' } }
  await api.call('POST', `${one.path}/fail`, {
    ...failure,
    log: [line(1, 'first run'), line(3, 'end')].join('\n'),
  })
  const third = await log(second.next)
  const last = await log(third.next)

  expect([first, second, third, last].map(({ lines }) => lines)).toEqual([
    [line(2, 'second run')],
    [line(1, 'first run')],
    [line(3, 'end')],
    [],
  ])
})

it('a lost run keeps what its last heartbeat has stored', async () => {
  await published(api, { key: 'a', liveLog: true })
  const { path, fence } = await claimed(api)
  await api.call('POST', `${path}/heartbeat`, { fence, log: line(1, 'the last sign') })
  await api.system.clock.advance(20 * SECOND)

  const { id = '', born = '', revision = 0 } = (await readTask(api.system, 'jobs:a')) ?? {}
  await wakeTasks(api.system, [{ id, born, revision, hops: 0, delaySeconds: 0 }])

  expect((await log()).lines).toEqual([line(1, 'the last sign')])
})

it('without the option nothing is stored, and lists never show a log', async () => {
  await published(api, { key: 'a' })
  const { path, fence } = await claimed(api)
  await api.call('POST', `${path}/heartbeat`, { fence, log: 'a line' })
  const plain = await log()
  await api.call('PATCH', '/v1/tasks/jobs:a', { liveLog: true })
  await api.call('POST', `${path}/heartbeat`, { fence, log: 'a line' })

  expect(plain.lines).toEqual([])
  expect((await log()).lines).toEqual(['a line'])
  expect((await api.call('GET', '/v1/tasks?type=jobs')).body.items[0].runs[0]).not.toHaveProperty('log')
})

it('refuses an unknown task, a strange position and a log that is too long', async () => {
  expect((await api.call('GET', '/v1/tasks/jobs:none/log')).status).toBe(404)
  await published(api, { key: 'a' })
  const { path, fence } = await claimed(api)
  await expectRefused(api.call('GET', '/v1/tasks/jobs:a/log?after=x'), 'after')
  await expectRefused(api.call('POST', `${path}/heartbeat`, { fence, log: 'x'.repeat(1_025) }), 'log')
  await expectRefused(api.call('POST', `${path}/heartbeat`, { fence, log: '€'.repeat(342) }), 'log', 413)
})
