import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { anApiPerTest, expectRefused, pagesOf, published } from '../../../support/http/an-api.ts'
import { BAD_OPTIONS, type Bad } from '../../../support/http/bad-fields.ts'

const TASK = { type: 'jobs', input: { n: 1 }, priority: 5 }
const DAILY = { cron: '30 2 * * *', timezone: 'Europe/Berlin', task: TASK }
const PATH = '/v1/schedules/nightly'

const api = anApiPerTest()

describe('PUT /v1/schedules/{name}', () => {
  it('creates a schedule and shows it with its next tick', async () => {
    const answer = await api.call('PUT', PATH, DAILY)

    expect(answer.status).toBe(201)
    expect(answer.headers.get('location')).toBe(PATH)
    expect(answer.body).toEqual({
      name: 'nightly',
      cron: '30 2 * * *',
      timezone: 'Europe/Berlin',
      missed: 'skip',
      graceMs: 300_000,
      task: TASK,
      paused: false,
      nextRunAt: '2026-01-02T01:30:00.000Z',
      createdAt: '2026-01-01T12:00:00.000Z',
      updatedAt: '2026-01-01T12:00:00.000Z',
      revision: 1,
      operations: [{ at: '2026-01-01T12:00:00.000Z', by: 'anonymous', what: 'put' }],
    })
    expect((await api.call('GET', PATH)).body).toEqual(answer.body)
  })

  it('changes nothing when a client writes the members of the same schedule in another order', async () => {
    const { body: first } = await api.call('PUT', PATH, { ...DAILY, missed: { catchUp: 2 } })
    const { priority, input, type } = TASK
    const task = { priority, input, type }

    const again = await api.call('PUT', PATH, {
      task,
      missed: { catchUp: 2 },
      timezone: 'Europe/Berlin',
      cron: '30 2 * * *',
    })

    expect(again).toMatchObject({ status: 200, body: { revision: 1, operations: first.operations } })
  })

  it('replaces a schedule with status 200', async () => {
    await api.call('PUT', PATH, DAILY)

    const again = await api.call('PUT', PATH, DAILY)
    const other = await api.call('PUT', PATH, { everyMs: 60_000, missed: { catchUp: 3 }, task: TASK })

    expect(again.status).toBe(200)
    expect(other.status).toBe(200)
    expect(other.body).toMatchObject({
      everyMs: 60_000,
      missed: { catchUp: 3 },
      nextRunAt: '2026-01-01T12:01:00.000Z',
    })
    expect(other.body.cron).toBeUndefined()
  })

  it.each([180_000, 86_400_000])(
    'sets a grace of %d ms, and changes it without moving the next tick',
    async graceMs => {
      const { body: before } = await api.call('PUT', PATH, { everyMs: 60_000, task: TASK })
      await api.system.clock.advance(1_000)

      const changed = await api.call('PUT', PATH, { everyMs: 60_000, graceMs, task: TASK })
      const again = await api.call('PUT', PATH, { everyMs: 60_000, graceMs, task: TASK })

      expect([before.graceMs, changed.status, changed.body.graceMs]).toEqual([300_000, 200, graceMs])
      expect(changed.body.nextRunAt).toBe(before.nextRunAt)
      expect(again.body).toEqual(changed.body)
      expect((await api.call('GET', '/v1/schedules')).body.items).toMatchObject([{ graceMs }])
    },
  )

  it.each([179_999, 86_400_001, 200_000.5, '300000', null])(
    'refuses a grace of %j, and says what is legal',
    async graceMs => {
      const answer = await api.call('PUT', PATH, { ...DAILY, graceMs })

      const value = typeof graceMs === 'string' ? `'${graceMs}'` : graceMs
      const message = `must be a whole number of milliseconds from 180000 to 86400000, not ${value}`
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'graceMs', message }] } })
      expect((await api.call('GET', PATH)).status).toBe(404)
    },
  )

  it('takes a name of any 200 characters, and its task can be read under the key of its tick', async () => {
    const name = `${'ü'.repeat(100)}/:@${'x'.repeat(97)}`
    const path = pathOf('getSchedule', name)
    const put = await api.call('PUT', path, { everyMs: 1_000, task: TASK })

    const { body, headers } = await api.call('POST', `${path}/trigger`)

    expect(put.headers.get('location')).toBe(path)
    expect(headers.get('location')).toBe(pathOf('get', body.taskId))
    expect(await api.call('GET', pathOf('get', body.taskId))).toMatchObject({
      status: 200,
      body: { input: { n: 1 }, parentId: `schedule:${name}` },
    })
  })

  it('keeps a large input, and shows it', async () => {
    const task = { type: 'jobs', input: 'x'.repeat(100_000) }

    await api.call('PUT', PATH, { everyMs: 1_000, task })

    expect((await api.call('GET', PATH)).body.task).toEqual(task)
    expect((await api.call('GET', '/v1/schedules')).body.items[0].task).toEqual({ type: 'jobs' })
  })

  it.each<[string, object, string]>([
    ['no timing', {}, 'cron'],
    ['two timings', { cron: '* * * * *', everyMs: 1_000 }, 'everyMs'],
    ['a cron with four fields', { cron: '* * * *' }, 'cron'],
    ['a cron with seven fields', { cron: '* * * * * * *' }, 'cron'],
    ['a cron with a minute 60', { cron: '60 * * * *' }, 'cron'],
    ['a nickname', { cron: '@hourly' }, 'cron'],
    ['a cron without any tick', { cron: '0 0 30 2 *' }, 'cron'],
    ['a cron that is too long', { cron: `${'1,'.repeat(100)}1 * * * *` }, 'cron'],
    ['a cron that is not text', { cron: 5 }, 'cron'],
    ['an unknown time zone', { cron: '* * * * *', timezone: 'Mars/Olympus' }, 'timezone'],
    ['an offset as time zone', { cron: '* * * * *', timezone: '+02:00' }, 'timezone'],
    ['a time zone without cron', { everyMs: 1_000, timezone: 'UTC' }, 'timezone'],
    ['an interval below a second', { everyMs: 999 }, 'everyMs'],
    ['an interval that is not whole', { everyMs: 1_000.5 }, 'everyMs'],
    ['a time in the past', { at: '2026-01-01T11:59:59Z' }, 'at'],
    ['a time in more than ten years', { at: '2036-06-01T00:00:00Z' }, 'at'],
    ['a malformed time', { at: 'tomorrow' }, 'at'],
    ['an unknown value of missed', { everyMs: 1_000, missed: 'all' }, 'missed'],
    ['a catch-up of no ticks', { everyMs: 1_000, missed: { catchUp: 0 } }, 'missed.catchUp'],
    ['a catch-up of too many ticks', { everyMs: 1_000, missed: { catchUp: 1_001 } }, 'missed.catchUp'],
    ['an unknown field', { everyMs: 1_000, every: 1 }, 'every'],
    ['no task', { everyMs: 1_000, task: undefined }, 'task'],
    ['a task with a key', { everyMs: 1_000, task: { ...TASK, key: 'k' } }, 'task.key'],
    [
      'a task with a due time',
      { everyMs: 1_000, task: { ...TASK, dueAt: '2027-01-01T00:00:00Z' } },
      'task.dueAt',
    ],
    ['a task with a delay', { everyMs: 1_000, task: { ...TASK, delayMs: 1 } }, 'task.delayMs'],
    ['a task with ifExists', { everyMs: 1_000, task: { ...TASK, ifExists: 'keep' } }, 'task.ifExists'],
    ['a debounced task', { everyMs: 1_000, task: { ...TASK, debounce: { ms: 1 } } }, 'task.debounce'],
    ['a throttled task', { everyMs: 1_000, task: { ...TASK, throttle: { perMs: 1 } } }, 'task.throttle'],
    [
      'options that contradict each other',
      { everyMs: 1_000, task: { ...TASK, heartbeatMs: 9_000, leaseMs: 1_000 } },
      'task.heartbeatMs',
    ],
  ])('refuses %s by its path', async (_name, fields, path) => {
    const { body } = await expectRefused(api.call('PUT', PATH, { task: TASK, ...fields }), path)

    expect(body.type).toBe('urn:baton:problem:invalid')
    expect((await api.call('GET', PATH)).status).toBe(404)
  })

  it('refuses a callback of no registered type by its path, as a publish does', async () => {
    const task = { ...TASK, onSuccess: [{ type: 'none' }] }
    const answer = await api.call('PUT', PATH, { everyMs: 1_000, task })

    expect(answer).toMatchObject({ status: 404, body: { type: 'urn:baton:problem:unknown-type' } })
    expect(answer.body.errors).toMatchObject([{ path: 'task.onSuccess.0.type' }])
    expect((await api.call('GET', PATH)).status).toBe(404)
  })

  it.each<Bad>(BAD_OPTIONS)('refuses a task whose %s is %j', async (field, value, path = field) => {
    const task = { ...TASK, [field]: value }
    await expectRefused(api.call('PUT', PATH, { everyMs: 1_000, task }), `task.${path}`)
  })

  it.each(['x'.repeat(201), 'a\nb'])('refuses a name that cannot be stored: %j', async name => {
    await expectRefused(api.call('PUT', pathOf('getSchedule', name), DAILY), 'name')
  })

  it.each(['none', 'canvas', 'schedule'])('refuses the task type %s', async type => {
    const putting = api.call('PUT', PATH, { everyMs: 1_000, task: { type } })

    const { body } = await expectRefused(putting, 'task.type', 404)
    expect(body.type).toBe('urn:baton:problem:unknown-type')
  })

  it('refuses a task that is too large to be stored', async () => {
    const task = { type: 'jobs', input: 'x'.repeat(360 * 1_024) }

    expect((await api.call('PUT', PATH, { everyMs: 1_000, task })).status).toBe(413)
  })
})

describe('a schedule', () => {
  it('is paused and resumed, both repeatably', async () => {
    await api.call('PUT', PATH, DAILY)

    const paused = [await api.call('POST', `${PATH}/pause`), await api.call('POST', `${PATH}/pause`, {})]
    const resumed = [await api.call('POST', `${PATH}/resume`), await api.call('POST', `${PATH}/resume`)]

    for (const { status, body } of paused) {
      expect(status).toBe(200)
      expect(body).toMatchObject({ name: 'nightly', paused: true })
      expect(body.nextRunAt).toBeUndefined()
    }
    for (const { status, body } of resumed) {
      expect(status).toBe(200)
      expect(body).toMatchObject({ paused: false, nextRunAt: '2026-01-02T01:30:00.000Z' })
    }
  })

  it('publishes its task when an operator triggers it', async () => {
    await api.call('PUT', PATH, DAILY)

    const first = await api.call('POST', `${PATH}/trigger`)
    const second = await api.call('POST', `${PATH}/trigger`)

    expect([first.status, second.status]).toEqual([202, 202])
    expect(first.body.taskId).toMatch(/^jobs:nightly@now-/)
    expect(second.body.taskId).not.toBe(first.body.taskId)
    expect((await api.call('GET', PATH)).body.lastRunAt).toBe('2026-01-01T12:00:00.000Z')
  })

  it('is not a task, though its id looks like the id of one', async () => {
    await api.call('PUT', PATH, DAILY)

    const answer = await api.call('GET', '/v1/tasks/schedule%3Anightly')

    expect(answer).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('use /v1/schedules/nightly') },
    })
    expect((await api.call('DELETE', '/v1/tasks/schedule%3Anightly')).status).toBe(404)
    expect((await api.call('POST', '/v1/tasks/schedule%3Anightly/cancel')).status).toBe(404)
    expect((await api.call('GET', '/v1/tasks?type=schedule')).status).toBe(404)
  })

  it('reserves the name schedule: no type can have it', async () => {
    const put = await api.call('PUT', '/v1/types/schedule', { kind: 'http' })
    const publish = await api.call('POST', '/v1/tasks', { type: 'schedule' })

    expect(put).toMatchObject({ status: 400, body: { errors: [{ path: 'type' }] } })
    expect(publish).toMatchObject({
      status: 404,
      body: { errors: [{ path: 'type', message: expect.stringContaining('/v1/schedules') }] },
    })
  })
})

describe('GET /v1/schedules', () => {
  it('lists schedules by their next tick, page by page, paused ones last and removed ones not', async () => {
    const names = Array.from({ length: 7 }, (_, index) => `s${index}`)
    for (const [index, name] of names.entries()) {
      await api.call('PUT', `/v1/schedules/${name}`, { everyMs: (7 - index) * 1_000, task: TASK })
    }
    await api.call('POST', '/v1/schedules/s6/pause')
    await api.call('POST', '/v1/schedules/s4/pause')
    await api.call('PUT', PATH, DAILY)
    await api.call('DELETE', PATH)
    await published(api)

    const pages = await pagesOf(api, '/v1/schedules?limit=2')

    const seen = pages.flatMap(({ items }) => items.map(({ name }: { name: string }) => name))
    expect(pages.every(({ items }) => items.length <= 2)).toBe(true)
    expect(seen.slice(0, 5)).toEqual(['s5', 's3', 's2', 's1', 's0'])
    expect(seen.slice(5).sort()).toEqual(['s4', 's6'])
  })

  it.each(['cursor=nonsense', 'limit=0', 'limit=101', 'status=open'])('refuses %s', async query => {
    expect((await api.call('GET', `/v1/schedules?${query}`)).status).toBe(400)
  })
})
