import { expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { anApiPerTest, claimed, published } from '../../../support/http/an-api.ts'
import { HOUR, NOW, SECOND } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

const OWN_RETRIES = { concurrency: 2, retry: { scope: 'worker', delayMs: SECOND } }
const error = { name: 'TooManyRequests', message: 'in an hour' }
const iso = (time: number) => new Date(time).toISOString()

const ids = async (workerId: string): Promise<string[]> => {
  const { body } = await api.call('POST', '/v1/claims', { type: 'jobs', workerId })
  return body.claims.map(({ task }: { task: { id: string } }) => task.id)
}
const failed = async (workerId: string, more: object = {}) => {
  const { id, path, fence } = await claimed(api, { workerId })
  await api.call('POST', `${path}/fail`, { fence, error, ...more })
  return id
}
const shown = async (id: string) => {
  await api.system.clock.advance(1_001)
  const [task, why] = await Promise.all([
    api.call('GET', pathOf('get', id)),
    api.call('GET', `${pathOf('get', id)}/why`),
  ])
  return { task: task.body, why: why.body }
}

it('the hour that one worker asks for delays no other worker, and the backoff of another does not shorten it', async () => {
  await published(api, OWN_RETRIES)
  const id = await failed('a', { retryInMs: HOUR })
  await failed('b')

  const neitherMay = [await ids('a'), await ids('b')]
  await api.system.clock.advance(2 * SECOND)
  const afterTheBackoff = [await ids('a'), await ids('b'), await ids('c')]
  await api.system.clock.advance(HOUR)

  expect(neitherMay).toEqual([[], []])
  expect(afterTheBackoff).toEqual([[], [id], [id]])
})

it('a task that waits only for the retries of its live workers says so, and is ready for a new one', async () => {
  await published(api, OWN_RETRIES)
  const id = await failed('a', { retryInMs: HOUR })

  const { task, why } = await shown(id)
  const ofAnother = await ids('b')

  expect(task).toMatchObject({ status: 'ready', statusReason: 'retry' })
  expect(why).toMatchObject({ reason: 'retry', until: iso(NOW + HOUR) })
  expect(why.sentence).toContain('waits for its retry at')
  expect(ofAnother).toEqual([id])
})
