import { describe, expect, it } from 'vitest'
import { sweepBulks, workOnBulk } from '../../../shared/runtime/jobs/bulk.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { restartTask } from '../../../shared/runtime/operate/operate.ts'
import { anApiPerTest, expectRefused, published, reported, type Shown } from '../../support/http/an-api.ts'
import { aLetter } from '../../support/tasks/a-letter.ts'
import { MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import { beforeWrites, servedJobs } from '../../support/worlds/memory-system.ts'

const api = anApiPerTest()

async function failed(key: string, message = 'no'): Promise<string> {
  const id = await published(api, { key })
  await reported(api, 'fail', { fatal: true, error: { name: 'E', message } })
  return id
}

async function started(body: object): Promise<string> {
  await api.system.clock.advance(SECOND)
  const { status, body: answer, headers } = await api.call('POST', '/v1/bulk', { type: 'jobs', ...body })
  expect({ status, location: headers.get('location') }).toEqual({
    status: 202,
    location: `/v1/bulk/${answer.id}`,
  })
  return answer.id
}

async function finished(id: string): Promise<Shown> {
  await api.system.clock.advance(2 * SECOND)
  await servedJobs(api.system)
  return (await api.call('GET', `/v1/bulk/${id}`)).body
}

const timeIn = (ms: number) => new Date(api.system.clock.now() + ms).toISOString()
const bulk = async (body: object) => finished(await started(body))
const statusOf = async (id: string) => (await api.task(id)).status

describe('a bulk operation', () => {
  it('retries the failed tasks that fit, and is on record with its caller, as each task is', async () => {
    await failed('b')
    await api.call('POST', '/v1/tasks/jobs:b/retry')
    const b = (await reported(api, 'fail', { fatal: true, error: { name: 'E', message: 'Timeout' } })).id
    const ids = [await failed('a'), b, await failed('c', 'a timeout of 3 s')]

    const id = await started({ action: 'retry', status: 'failed', error: 'timeout' })
    const begun = (await api.call('GET', `/v1/bulk/${id}`)).body
    const done = await finished(id)

    expect(begun).toMatchObject({ state: 'running', examined: 0 })
    expect(done).toEqual({
      ...{ id, state: 'finished', action: 'retry', type: 'jobs', status: ['failed'], error: 'timeout' },
      ...{ dryRun: false, by: 'anonymous', createdAt: begun.createdAt },
      ...{ updatedAt: expect.any(String), finishedAt: expect.any(String) },
      ...{ examined: 3, selected: 2, done: 2, leftOut: {} },
    })
    expect(await Promise.all(ids.map(statusOf))).toEqual(['failed', 'ready', 'ready'])
    const retry = { at: expect.any(String), by: 'anonymous', what: 'restart' }
    expect((await api.task('jobs:b')).operations).toEqual([retry, retry])
    const type = await api.system.types.get('jobs')
    expect([type?.bulks, type?.operations?.at(-1)]).toMatchObject([undefined, { what: 'bulk' }])
  })

  it('only counts as a dry run', async () => {
    await failed('a')

    expect(await bulk({ action: 'remove', status: ['failed'], dryRun: true })).toMatchObject({
      selected: 1,
      done: 0,
    })
    expect(await statusOf('jobs:a')).toBe('failed')
  })

  it('cancels and removes tasks from a time on', async () => {
    await failed('old')
    await published(api, { key: 'open', delayMs: 3_600_000 })
    await api.system.clock.advance(MINUTE)
    const since = new Date(api.system.clock.now()).toISOString()
    await failed('young')

    const cancelling = await started({ action: 'cancel', status: ['ready', 'delayed'] })
    await api.system.clock.advance(SECOND)
    await published(api, { key: 'later', delayMs: 3_600_000 })
    const cancelled = await finished(cancelling)
    const removed = await bulk({ action: 'remove', status: ['failed'], since })

    expect([cancelled.done, removed.done, await statusOf('jobs:later')]).toEqual([1, 1, 'delayed'])
    expect(await Promise.all(['jobs:open', 'jobs:old', 'jobs:young'].map(statusOf))).toEqual([
      'cancelled',
      'failed',
      404,
    ])
  })

  it('is narrowed by user, canvas, tags and time, in its dry run and for each task', async () => {
    const { body: canvas } = await api.call('POST', '/v1/canvases', {
      group: [{ type: 'jobs', userId: 'ada' }],
    })
    const open = { delayMs: MINUTE }
    await published(api, { key: 'hers', userId: 'ada', tags: { team: 'red', size: 's' }, ...open })
    await published(api, { key: 'his', userId: 'bob', tags: { team: 'red', size: 's' }, ...open })
    await published(api, { key: 'blue', userId: 'ada', tags: { team: 'blue', size: 's' }, ...open })
    await published(api, {
      key: 'late',
      userId: 'ada',
      tags: { team: 'red', size: 's' },
      delayMs: 2 * MINUTE,
    })
    const filter = { userId: 'ada', tags: ['team:red', 'size:s'], until: timeIn(2 * MINUTE) }
    const cancel = { action: 'cancel', status: ['ready', 'delayed'] }

    const shown = await bulk({ ...cancel, ...filter })
    const ofCanvas = await bulk({ ...cancel, canvasId: canvas.id, dryRun: true })

    expect(shown).toMatchObject({ ...filter, selected: 1, done: 1 })
    expect(ofCanvas).toMatchObject({ canvasId: canvas.id, examined: 4, selected: 1 })
    expect(await Promise.all(['jobs:hers', 'jobs:his', 'jobs:blue', 'jobs:late'].map(statusOf))).toEqual([
      'cancelled',
      'delayed',
      'delayed',
      'delayed',
    ])
    await failed('early')
    const until = timeIn(1)
    await api.system.clock.advance(SECOND)
    await failed('after')
    expect(await bulk({ action: 'retry', status: ['failed'], until })).toMatchObject({ examined: 1, done: 1 })
  })

  it('leaves out what needs attention, and what has changed meanwhile', async () => {
    const steps = [{ name: 'one', do: { type: 'jobs' }, undo: { type: 'jobs' } }]
    await api.call('PUT', '/v1/types/order', { kind: 'flow', steps })
    await api.call('POST', '/v1/tasks', { type: 'order', key: 'halted', input: {} })
    for (const _ of ['do', 'undo'])
      await reported(api, 'fail', { fatal: true, error: { name: 'E', message: 'no' } })
    await failed('a')
    await failed('b')
    const { tasks } = api.system
    const heads: typeof tasks.heads = async ids => {
      const seen = await tasks.heads(ids)
      if (ids.includes('jobs:a')) await api.call('DELETE', '/v1/tasks/jobs:a')
      return seen
    }

    const halted = await bulk({ type: 'order', action: 'retry', status: ['failed'] })
    const id = await started({ action: 'retry', status: ['failed'] })
    await workOnBulk({ ...api.system, tasks: { ...tasks, heads } } as System, id, Number.POSITIVE_INFINITY)

    expect(halted).toMatchObject({ selected: 1, done: 0, leftOut: { 'needs-attention': 1 } })
    expect(await finished(id)).toMatchObject({ selected: 2, done: 1, leftOut: { changed: 1 } })
  })

  it('retries flows where they have failed, and leaves out those that only a restart can begin again', async () => {
    const ONCE = { retry: { maxRetries: 0 } }
    const steps = [
      { name: 'one', do: { type: 'jobs', ...ONCE }, undo: { type: 'jobs', ...ONCE } },
      { name: 'two', do: { type: 'jobs', ...ONCE } },
    ]
    await api.call('PUT', '/v1/types/order', { kind: 'flow', steps })
    const ran = async (key: string, ...words: Array<'succeed' | 'fail'>) => {
      await api.call('POST', '/v1/tasks', { type: 'order', key, input: {} })
      for (const word of words) await reported(api, word)
    }
    await ran('done', 'succeed', 'succeed')
    await ran('undone', 'succeed', 'fail', 'succeed')
    await ran('halted', 'succeed', 'fail', 'fail')
    await ran('first', 'fail', 'succeed')
    await ran('stopped', 'succeed')
    await api.call('POST', '/v1/tasks/order:stopped/cancel')
    await reported(api, 'succeed')
    const retry = { type: 'order', action: 'retry', status: ['failed', 'succeeded', 'cancelled'] }

    const done = await bulk(retry)

    const leftOut = { 'needs-attention': 1, 'restart-only': 2, undone: 1 }
    expect(done).toMatchObject({ selected: 5, done: 1, leftOut })
    expect(await api.task('order:first')).toMatchObject({
      status: 'ready',
      operations: [{ what: 'retry-do' }],
    })
  })

  it('is listed with the last ones of all types, latest first, and without dry runs', async () => {
    const cancel = { action: 'cancel', status: ['ready'] }
    const ids: string[] = []
    for (let nth = 0; nth < 6; nth++) ids.unshift(await started(cancel))
    ids.unshift(await started({ ...cancel, type: 'resize' }))
    await started({ ...cancel, dryRun: true })

    const { body: list } = await api.call('GET', '/v1/bulk')
    await finished(ids[0] ?? '')
    const { body: later } = await api.call('GET', '/v1/bulk')

    expect(list.items.map((one: Shown) => one.id)).toEqual(ids.slice(0, 6))
    expect([list.items[0].state, later.items[0].state]).toEqual(['running', 'finished'])
  })

  it('counts each task once after a crash between the work and its record, and after doubled messages', async () => {
    for (let nth = 0; nth < 150; nth++) await failed(`k${nth}`)
    const id = await started({ action: 'retry', status: ['failed'] })
    await api.system.clock.advance(2 * SECOND)
    let writes = 0
    const replace: System['records']['replace'] = async (...given) => {
      writes += 1
      if (writes === 2) throw new Error('the process dies')
      await api.system.records.replace(...given)
      // The answer was lost, and the write was sent again.
      return false
    }
    const withReplace = (one: typeof replace) => ({
      ...api.system,
      records: { ...api.system.records, replace: one },
    })
    const dying = withReplace(replace)
    await expect(workOnBulk(dying, id, Number.POSITIVE_INFINITY)).rejects.toThrow('dies')

    api.system.messages.jobLooks.length = 0
    let refused = 0
    const counting = withReplace(async (...given) => {
      const isReplaced = await api.system.records.replace(...given)
      if (!isReplaced) refused += 1
      return isReplaced
    })
    // Neither has time left after a page. The one whose write is refused stops, and leaves the rest to the other.
    await Promise.all([0, 0].map(stopAt => workOnBulk(counting, id, stopAt)))
    expect([refused, api.system.messages.jobLooks.length]).toEqual([1, 1])

    const { state, selected, done, leftOut } = await finished(id)
    expect({ state, selected, done, leftOut }).toEqual({
      ...{ state: 'finished', selected: 150, done: 150, leftOut: {} },
    })
  })

  it('follows several statuses, and leaves alone what others have done since', async () => {
    for (const key of ['a', 'b', 'c']) await failed(key)
    await published(api, { key: 'stopped' })
    await api.call('POST', '/v1/tasks/jobs:stopped/cancel')
    await api.system.clock.advance(SECOND)
    for (const key of ['d', 'e']) await failed(key)
    const id = await started({ action: 'retry', status: ['failed', 'cancelled'] })
    // The message has no time left after it has recorded the first page, which has a and e.
    await workOnBulk(api.system, id, 0)
    await api.system.clock.advance(SECOND)
    await restartTask({ ...api.system, operator: { by: 'bob', what: 'restart' } }, 'jobs:a')
    await api.call('POST', '/v1/tasks/jobs:a/cancel')
    await restartTask(api.system, 'jobs:e')
    await reported(api, 'fail', { fatal: true })

    expect(await finished(id)).toMatchObject({ examined: 6, selected: 4, done: 4, leftOut: {} })
    expect(await Promise.all(['jobs:e', 'jobs:d', 'jobs:stopped'].map(statusOf))).toEqual([
      'failed',
      'ready',
      'ready',
    ])
  })

  it('does not remove what open canvases need, and counts faults', async () => {
    await api.call('POST', '/v1/canvases', { chain: [{ type: 'jobs' }, { type: 'resize' }] })
    await reported(api, 'succeed')
    await published(api, { key: 'a' })
    await published(api, { key: 'b' })
    await published(api, { key: 'ends' })
    await published(api, { key: 'moves' })
    const id = await started({ action: 'remove', status: ['succeeded', 'ready', 'cancelled'] })
    await api.system.clock.advance(SECOND)
    const { tasks, ...faulty } = beforeWrites(api.system, ({ id: written }) => {
      if (written === 'jobs:a') throw new TypeError('a fault of this task')
    })
    const heads: typeof tasks.heads = async ids => {
      if (ids.includes('jobs:ends')) await api.call('POST', '/v1/tasks/jobs:ends/cancel')
      const read = await tasks.heads(ids)
      if (ids.includes('jobs:moves')) await api.call('PATCH', '/v1/tasks/jobs:moves', { delayMs: MINUTE })
      return read
    }
    await workOnBulk({ ...faulty, tasks: { ...tasks, heads } } as System, id, Number.POSITIVE_INFINITY)

    const leftOut = { 'open-canvas': 1, fault: 1, changed: 1 }
    expect(await finished(id)).toMatchObject({ selected: 4, done: 1, leftOut })
  })

  it('continues after its message was lost, by the sweeper', async () => {
    await failed('a')
    const id = await started({ action: 'retry', status: ['failed'] })
    const types = await api.system.types.list()
    const early = await sweepBulks(api.system, types)
    api.system.messages.jobLooks.length = 0
    await api.system.clock.advance(MINUTE + SECOND)

    const report = await sweepBulks(api.system, types)

    expect([early.repaired, report.repaired]).toEqual([0, 1])
    const unlisting = {
      ...api.system,
      types: { ...api.system.types, put: () => Promise.reject(new Error('dies')) },
    }
    await expect(workOnBulk(unlisting, id, Number.POSITIVE_INFINITY)).rejects.toThrow('dies')
    expect((await api.system.types.get('jobs'))?.bulks).toEqual([id])
    await sweepBulks(api.system, types)
    expect((await api.system.types.get('jobs'))?.bulks).toBeUndefined()
    expect(await finished(id)).toMatchObject({ state: 'finished', done: 1 })
  })

  it('sends the dead letters of a type again', async () => {
    const letters = ['a', 'b'].map(messageId => aLetter({ queue: 'type:jobs', messageId, error: messageId }))
    const others = Array.from({ length: 100 }, (_, nth) =>
      aLetter({ queue: 'type:jobs', messageId: `0${nth}`, error: 'z', sentAt: 1 }),
    )
    const later = aLetter({
      queue: 'type:jobs',
      messageId: 'c',
      error: 'a',
      arrivedAt: Date.parse(timeIn(MINUTE)),
    })
    for (const letter of [...others, later]) await api.system.deadLetters.put(letter, '{}')
    for (const letter of letters) await api.system.deadLetters.put(letter, '{}')

    const none = await bulk({ action: 'replay', until: new Date(letters[0]?.arrivedAt ?? 0).toISOString() })
    const counted = await bulk({ action: 'replay', error: 'A', dryRun: true })
    const { selected, done } = await bulk({ action: 'replay', error: 'A' })

    expect([none.examined, none.selected, counted.selected, selected, done]).toEqual([103, 0, 1, 1, 1])
    const left = await Promise.all(letters.map(letter => api.system.deadLetters.get(letter.id)))
    expect(left).toMatchObject([undefined, { letter: letters[1] }])
  })

  it.each<[string, object, string]>([
    ['no status', { action: 'retry' }, 'status'],
    ['a status that the action cannot have', { action: 'cancel', status: ['failed'] }, 'status'],
    ['a replay by status', { action: 'replay', status: ['failed'] }, 'status'],
    ['an unknown action', { action: 'restart', status: ['failed'] }, 'action'],
    ['a replay by user', { action: 'replay', userId: 'ada' }, 'userId'],
    ['a tag without a value', { action: 'retry', status: 'failed', tags: ['team'] }, 'tags.0'],
    [
      'an empty span of time',
      {
        ...{ action: 'retry', status: 'failed' },
        since: '2026-01-02T00:00:00Z',
        until: '2026-01-01T00:00:00Z',
      },
      'until',
    ],
  ])('is refused with %s', async (_name, body, path) => {
    await expectRefused(api.call('POST', '/v1/bulk', { type: 'jobs', ...body }), path)
  })

  it('is refused for an unknown type, and while ten of its type are under way', async () => {
    const body = { action: 'retry', status: ['failed'], type: 'jobs' }
    const statuses = []
    for (let nth = 0; nth < 11; nth++) statuses.push((await api.call('POST', '/v1/bulk', body)).status)

    expect(statuses).toEqual([...Array(10).fill(202), 409])
    expect((await api.call('POST', '/v1/bulk', { ...body, type: 'job' })).status).toBe(404)
    expect((await api.call('POST', '/v1/bulk', { ...body, canvasId: 'canvas:none' })).status).toBe(404)
    expect((await api.call('GET', '/v1/bulk/none')).status).toBe(404)
  })
})
