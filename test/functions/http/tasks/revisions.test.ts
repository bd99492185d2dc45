import { describe, expect, it } from 'vitest'
import type { RequestContext } from '../../../../functions/http/create-api.ts'
import { anApiPerTest, claimed, published, type Shown } from '../../../support/http/an-api.ts'
import { timed } from '../../../support/worlds/memory-system.ts'

const api = anApiPerTest()

const OPERATORS = 20
const shown = async (path: string) => (await api.call('GET', path)).body

const STALE = { type: 'urn:baton:problem:stale-revision', status: 409 }

describe('the revision of a task', () => {
  it('counts the changes of people, and neither its publish nor its runs', async () => {
    const id = await published(api, { key: 'k' })
    const path = `/v1/tasks/${id}`
    expect(await shown(path)).toMatchObject({ revision: 0 })

    await api.call('PATCH', path, { priority: 1 })
    await api.call('PATCH', path, {})
    const run = await claimed(api)
    await api.call('POST', `${run.path}/heartbeat`, { fence: run.fence })
    await api.call('POST', `${run.path}/release`, { fence: run.fence })
    expect(await shown(path)).toMatchObject({ revision: 1 })

    await api.call('POST', `${path}/cancel`, { ifRevision: 1 })
    await api.call('POST', `${path}/cancel`)
    const retried = await api.call('POST', `${path}/retry`, { ifRevision: 2 })
    expect(retried.body.task).toMatchObject({ status: 'ready', revision: 3 })
    const listed = await shown('/v1/tasks?type=jobs')
    expect(listed.items.map(({ revision }: Shown) => revision)).toEqual([3])
  })

  it('continues when a removed task is published again, so an old revision does not fit the new task', async () => {
    const id = await published(api, { key: 'k' })
    await api.call('DELETE', `/v1/tasks/${id}?ifRevision=0`)
    await published(api, { key: 'k' })

    const { body } = await api.call('POST', `/v1/tasks/${id}/cancel`, { ifRevision: 0 })

    expect(body).toMatchObject({ ...STALE, revision: 1 })
  })

  it('refuses an outdated change, says who changed the task, and changes nothing', async () => {
    const id = await published(api, { key: 'k' })
    const path = `/v1/tasks/${id}`
    const requestContext: RequestContext = { authorizer: { jwt: { claims: { sub: 'bob' } } } }
    const event = { rawPath: `${path}/cancel`, rawQueryString: '' }
    await api.app.request('/', { method: 'POST' }, { event, requestContext })
    const before = await shown(path)

    const answers = [
      await api.call('PATCH', path, { priority: 9, ifRevision: 0 }),
      await api.call('POST', `${path}/cancel`, { ifRevision: 0 }),
      await api.call('POST', `${path}/retry`, { ifRevision: 7 }),
      await api.call('POST', `${path}/retry`, { action: 'retry-callbacks', ifRevision: 7 }),
      await api.call('POST', `${path}/retry`, { action: 'retry-do', ifRevision: 7 }),
      await api.call('DELETE', `${path}?ifRevision=0`),
    ]

    for (const { status, body } of answers) {
      expect(status).toBe(409)
      expect(body).toMatchObject({ ...STALE, revision: 1 })
      expect(body.detail).toContain('jobs:k has revision 1')
      expect(body.detail).toContain('bob changed it last (cancel) at 2026-01-01T12:00:00.000Z')
    }
    expect(await shown(path)).toEqual(before)
  })

  it.each([-1, 1.5, 'x'])(
    'is a whole number: %j is refused, and the problem names the field',
    async ifRevision => {
      const id = await published(api, { key: 'k' })
      const answers = [
        await api.call('PATCH', `/v1/tasks/${id}`, { ifRevision }),
        await api.call('DELETE', `/v1/tasks/${id}?ifRevision=${ifRevision}`),
        await api.call('PUT', '/v1/types/jobs', { kind: 'http', ifRevision }),
      ]

      for (const { status, body } of answers) {
        expect(status).toBe(400)
        expect(body.errors.map(({ path }: Shown) => path)).toEqual(['ifRevision'])
      }
    },
  )
})

describe('the revision of a type', () => {
  it('counts configurations and pauses, and neither purges nor deployments', async () => {
    const put = await api.call('PUT', '/v1/types/mail', { kind: 'http', ifRevision: 0 })
    expect(put.body).toMatchObject({ revision: 1 })
    await api.call('POST', '/v1/types/mail/purge', { status: ['failed'] })

    const paused = await timed(api.system, api.call('POST', '/v1/types/mail/pause', { ifRevision: 1 }))
    expect(paused.body).toEqual({ type: 'mail', paused: true, revision: 2 })
    const stale = await api.call('POST', '/v1/types/mail/resume', { ifRevision: 1 })
    expect(stale.body).toMatchObject({ ...STALE, revision: 2, detail: expect.stringContaining('(pause)') })
    expect(await shown('/v1/types/mail')).toMatchObject({ paused: true, revision: 2 })
  })

  it('is 0 for a type that does not exist, so an outdated PUT does not create it again', async () => {
    const { status, body } = await api.call('PUT', '/v1/types/new', { kind: 'http', ifRevision: 3 })

    expect([status, body.revision]).toEqual([409, 0])
    expect(body.detail).toContain('does not exist')
    expect((await api.call('GET', '/v1/types/new')).status).toBe(404)
  })
})

describe('the revision of a schedule', () => {
  const body = { everyMs: 60_000, task: { type: 'jobs' } }
  const path = '/v1/schedules/hourly'

  it('counts its definitions and pauses, and no triggers', async () => {
    expect((await api.call('PUT', path, { ...body, ifRevision: 0 })).body).toMatchObject({ revision: 1 })
    await api.call('POST', `${path}/trigger`)
    expect((await api.call('POST', `${path}/pause`, { ifRevision: 1 })).body).toMatchObject({ revision: 2 })

    const answers = [
      await api.call('PUT', path, { ...body, ifRevision: 1 }),
      await api.call('POST', `${path}/resume`, { ifRevision: 1 }),
      await api.call('DELETE', `${path}?ifRevision=1`),
    ]

    for (const answer of answers) expect(answer.body).toMatchObject({ ...STALE, revision: 2 })
    expect((await shown('/v1/schedules')).items[0]).toMatchObject({ paused: true, revision: 2 })
    expect((await api.call('DELETE', `${path}?ifRevision=2`)).status).toBe(204)
    expect((await api.call('PUT', path, { ...body, ifRevision: 2 })).body).toMatchObject({
      ...STALE,
      revision: 0,
    })
  })
})

it.each([
  ['task', 'PATCH', '/v1/tasks/jobs:k', 0, (priority: number) => ({ priority })],
  ['type', 'PUT', '/v1/types/jobs', 1, (priority: number) => ({ kind: 'http', defaults: { priority } })],
  [
    'schedule',
    'PUT',
    '/v1/schedules/hourly',
    1,
    (priority: number) => ({ everyMs: 60_000, task: { type: 'jobs', priority: priority + 1 } }),
  ],
])(
  'of twenty operators who have read one revision of a %s, exactly one changes it',
  async (_of, method, path, ifRevision, changed) => {
    await published(api, { key: 'k' })
    await api.call('PUT', '/v1/schedules/hourly', { everyMs: 60_000, task: { type: 'jobs' } })
    const changes = Array.from({ length: OPERATORS }, (_, nth) =>
      api.call(method, path, { ...changed(nth), ifRevision }),
    )

    const statuses = (await Promise.all(changes)).map(({ status }) => status)

    expect(statuses.toSorted()).toEqual([200, ...Array(OPERATORS - 1).fill(409)])
    expect(await shown(path)).toMatchObject({ ...changed(statuses.indexOf(200)), revision: ifRevision + 1 })
  },
)
