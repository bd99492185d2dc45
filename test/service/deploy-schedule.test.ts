import { beforeEach, describe, expect, it } from 'vitest'
import { deploySchedule, removeDeployedSchedule } from '../../shared/service/deploy-schedule.ts'
import { anApi, type TestApi } from '../support/http/an-api.ts'

const NIGHTLY = { cron: '0 3 * * *', timezone: 'Europe/Berlin', task: { type: 'jobs' } }
const PATH = '/v1/schedules/nightly'

let api: TestApi
beforeEach(async () => {
  api = await anApi()
  await deploySchedule(api.system, 'nightly', NIGHTLY, 'Shop')
})

const read = async () => (await api.call('GET', PATH)).body

describe('a schedule that a deployment keeps', () => {
  it('says so in reads and lists, and no person has changed it', async () => {
    expect(await read()).toMatchObject({ ...NIGHTLY, managedBy: 'Shop', revision: 0 })
    expect((await api.call('GET', '/v1/schedules')).body.items[0].managedBy).toBe('Shop')
  })

  it.each(['PUT', 'DELETE'])('is refused to %s over HTTP, even with the same body', async method => {
    const answer = await api.call(method, PATH, method === 'PUT' ? NIGHTLY : undefined)

    expect(answer.status).toBe(409)
    expect(answer.body.detail).toContain('the deployment of the stack Shop keeps nightly')
    expect((await read()).managedBy).toBe('Shop')
  })

  it('may be paused, resumed and triggered over HTTP', async () => {
    const calls = ['pause', 'resume', 'trigger'].map(what => api.call('POST', `${PATH}/${what}`))

    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 202])
  })

  it('keeps its pause when a deployment changes it', async () => {
    await api.call('POST', `${PATH}/pause`)

    await deploySchedule(api.system, 'nightly', { everyMs: 60_000, task: { type: 'jobs' } }, 'Shop')

    expect(await read()).toMatchObject({ everyMs: 60_000, paused: true, managedBy: 'Shop' })
  })

  it('is written once by equal deployments', async () => {
    const { updatedAt } = await read()
    await api.system.clock.advance(1_000)

    await deploySchedule(api.system, 'nightly', NIGHTLY, 'Shop')

    expect((await read()).updatedAt).toBe(updatedAt)
  })

  it('is gone when it is removed, and its name is free for HTTP', async () => {
    await removeDeployedSchedule(api.system, 'nightly', 'Shop')

    expect((await api.call('GET', PATH)).status).toBe(404)
    expect((await api.call('PUT', PATH, NIGHTLY)).status).toBe(201)
    expect((await read()).managedBy).toBeUndefined()
  })

  it('is removed by a single time that has passed, so that a rollback succeeds', async () => {
    await deploySchedule(
      api.system,
      'nightly',
      { at: '2020-01-01T00:00:00Z', task: { type: 'jobs' } },
      'Shop',
    )

    expect((await api.call('GET', PATH)).status).toBe(404)
  })
})

it('a schedule that was made over HTTP is neither taken over nor removed by a deployment', async () => {
  await api.call('PUT', '/v1/schedules/mine', NIGHTLY)

  await expect(deploySchedule(api.system, 'mine', NIGHTLY, 'Shop')).rejects.toThrow(
    "schedule 'mine' exists already: it was made over HTTP. Remove it by DELETE /v1/schedules/mine",
  )
  await removeDeployedSchedule(api.system, 'mine', 'Shop')

  expect((await api.call('GET', '/v1/schedules/mine')).status).toBe(200)
})

it.each([
  ['a wrong cron', { cron: '0 25 * * *' }, /^schedule 'bad': cron cannot be read: its hour is '25'/],
  ['an unknown time zone', { timezone: 'Berlin' }, /^schedule 'bad': timezone must be the IANA name/],
  ['an unknown field', { every: 1 }, /^schedule 'bad': every is not a field/],
  [
    'a type that is not registered',
    { task: { type: 'job' } },
    /^schedule 'bad': task\.type must name .* 'job' is not/,
  ],
  ['a cron that no day matches', { cron: '0 0 30 2 *' }, /^schedule 'bad': cron must match some day/],
])('%s is refused with the name of the schedule and the field', async (_, wrong, message) => {
  await expect(deploySchedule(api.system, 'bad', { ...NIGHTLY, ...wrong }, 'Shop')).rejects.toThrow(message)
})
