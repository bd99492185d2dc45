import { expect, it } from 'vitest'
import { createTestSystem, type TestSystem } from '../../shared/testing/index.ts'

const error = { name: 'TooManyRequests', message: 'in an hour' }

/** A system with one task that lists the workers a and b. Each has its own retries. */
async function aSystem(): Promise<TestSystem> {
  const t = await createTestSystem({ types: { jobs: { kind: 'http' } } })
  const retry = { scope: 'worker' as const, delayMs: 1_000 }
  await t.publish({ type: 'jobs', key: '1', concurrency: 2, workerIds: ['a', 'b'], retry })
  await t.advance('1s')
  return t
}

const claimOf = async (t: TestSystem, workerId: string) => (await t.claim('jobs', { workerId }))[0]

it('a listed worker begins at once although another one waits an hour for its retry, which comes in time', async () => {
  const t = await aSystem()
  const ofA = await claimOf(t, 'a')
  await ofA?.fail(error, { retryInMs: 3_600_000 })
  await t.advance('2s')

  const tooEarly = await claimOf(t, 'a')
  const ofB = await claimOf(t, 'b')
  await ofB?.fail(error)
  const delayed = t.task('jobs:1')
  await t.advance('3s')
  const again = await claimOf(t, 'b')
  await again?.succeed()
  const waiting = t.task('jobs:1')
  await t.advance('59m')
  const stillTooEarly = await claimOf(t, 'a')
  await t.advance('2m')
  const late = await claimOf(t, 'a')
  await late?.succeed()

  expect([tooEarly, stillTooEarly]).toEqual([undefined, undefined])
  expect(delayed).toMatchObject({ status: 'delayed', statusReason: 'retry' })
  expect(waiting).toMatchObject({ status: 'delayed', statusReason: 'retry' })
  expect(Date.parse(waiting.dueAt) - Date.parse(delayed.dueAt)).toBeGreaterThan(3_500_000)
  expect(t.task('jobs:1')).toMatchObject({ status: 'succeeded' })
})
