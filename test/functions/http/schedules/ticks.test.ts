import { expect, it } from 'vitest'
import { sweepSchedules } from '../../../../shared/runtime/schedule/tick-schedule.ts'
import { anApiPerTest, expectRefused, pagesOf, type Shown } from '../../../support/http/an-api.ts'
import { MINUTE, SECOND } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()
const PATH = '/v1/schedules/often'
const TASK = { type: 'jobs', input: { n: 1 } }

async function put(timing: object): Promise<void> {
  await api.call('PUT', PATH, { ...timing, task: TASK })
}

/** Lets time pass, and serves the due ticks unless they are to be missed. */
async function pass(ms: number, isServed = true): Promise<void> {
  await api.system.clock.advance(ms)
  if (isServed) await sweepSchedules(api.system, Number.POSITIVE_INFINITY)
}

const ticks = async () => {
  const pages = await pagesOf(api, `${PATH}/ticks?limit=2`)
  return pages.flatMap(({ items }) =>
    items.map(({ at, task }: Shown) => `${at.slice(11, 16)} ${task?.status}`),
  )
}

it('lists past ticks with their tasks, newest first, and missed ones without', async () => {
  await put({ everyMs: MINUTE })
  expect(await ticks()).toEqual([])
  await pass(MINUTE + 3 * SECOND)
  await pass(MINUTE, false)
  await pass(MINUTE)
  await api.call('DELETE', `/v1/tasks/jobs:often@2026-01-01T12:01:00.000Z`)
  await api.system.clock.advance(MINUTE)

  expect(await ticks()).toEqual(['12:03 ready', '12:02 undefined', '12:01 undefined'])
  const { body } = await api.call('GET', `${PATH}/ticks?limit=1`)
  expect(body.items[0]).toMatchObject({
    taskId: 'jobs:often@2026-01-01T12:03:00.000Z',
    task: { key: expect.any(String) },
  })
  expect(body.items[0].task).not.toHaveProperty('input')
})

it.each([
  [{ cron: '*/2 * * * *' }, ['12:04 ready', '12:02 ready']],
  [{ at: '2026-01-01T12:01:00Z' }, ['12:01 ready']],
])('lists the ticks of %o', async (timing, expected) => {
  await put(timing)

  for (let minute = 1; minute <= 5; minute++) await pass(minute === 1 ? MINUTE + 3 * SECOND : MINUTE)

  expect(await ticks()).toEqual(expected)
})

it('refuses an unknown schedule and a strange cursor', async () => {
  expect((await api.call('GET', `${PATH}/ticks`)).status).toBe(404)
  await expectRefused(api.call('GET', `${PATH}/ticks?cursor=x`), 'cursor')
})
