import { setTimeout as realSleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { defineTask } from '../../shared/define/define-task.ts'
import { RetryLater } from '../../shared/signals.ts'
import { createTestSystem, type TestSystem } from '../../shared/testing/index.ts'

/** A system with one task, `work:a`. It notes each call of its handler, whose work takes no time unless `takes` says how much. */
async function aPublished(
  options: { readonly timeoutMs?: number; readonly deadlineMs?: number } = {},
  takes?: string,
) {
  const attempts: number[] = []
  const work = defineTask('work', {
    ...options,
    retry: { maxRetries: 2, backoff: 'fixed', delayMs: 10_000 },
    run: (_input, { attempt }) => void attempts.push(attempt),
  })
  const t = await createTestSystem({ tasks: [work] })
  if (takes !== undefined) t.takes(work, takes)
  await t.publish(work, {}, { key: 'a' })
  return { t, work, attempts }
}

it('fail: the next runs fail with the given error, in place of the handler', async () => {
  const { t, attempts } = await aPublished()

  t.fail('work:a', 'no answer')
  t.fail('work:a', new RetryLater(60_000, 'come back later'))
  await t.runUntilIdle()

  const { runs, startedAt } = t.task('work:a')
  expect(startedAt).toBe('2027-01-01T00:00:00.000Z')
  expect(runs.map(({ state, error, startedAt }) => [state, error?.message, startedAt])).toEqual([
    ['failed', 'no answer', '2027-01-01T00:00:00.000Z'],
    ['failed', 'come back later', '2027-01-01T00:00:10.000Z'],
    ['succeeded', undefined, '2027-01-01T00:01:10.000Z'],
  ])
  expect(attempts).toEqual([3])
})

it('kill: the work is done, its end is never reported, and the lease ends', async () => {
  const { t, attempts } = await aPublished()

  t.kill('work:a')
  await t.runUntilIdle()

  expect(t.task('work:a').runs.map(({ state }) => state)).toEqual(['lost', 'succeeded'])
  expect(attempts).toEqual([1, 2])
})

it('kill at the start: the handler is not called in that run', async () => {
  const { t, work, attempts } = await aPublished()

  t.kill(work, { when: 'start' })
  await t.runUntilIdle()

  expect(attempts).toEqual([2])
})

it('kill strikes the run that is under way', async () => {
  const { t } = await aPublished({}, '1m')
  await t.advance('30s')

  const before = t.task('work:a')
  t.kill('work:a')
  await t.runUntilIdle()

  expect(before).toMatchObject({ status: 'running', runs: [{ state: 'running' }] })
  expect(t.task('work:a').runs.map(({ state }) => state)).toEqual(['lost', 'succeeded'])
})

it('freeze: a worker that comes back after its lease has no say any more', async () => {
  const { t } = await aPublished()

  t.freeze('work:a', '2m')
  await t.advance('1m')
  const whileFrozen = t.task('work:a')
  await t.advance('5m')

  expect(whileFrozen.status).toBe('succeeded')
  expect(t.task('work:a')).toEqual(whileFrozen)
  expect(whileFrozen.runs.map(({ state }) => state)).toEqual(['lost', 'succeeded'])
})

it('freeze: a worker that comes back within its lease reports as if nothing was', async () => {
  const { t, attempts } = await aPublished()

  t.freeze('work:a', '10s')
  await t.runUntilIdle()

  expect(t.task('work:a').runs).toMatchObject([{ state: 'succeeded', endedAt: '2027-01-01T00:00:10.000Z' }])
  expect(attempts).toEqual([1])
})

it('a run that takes too long times out, and its handler sees the signal', async () => {
  const { t } = await aPublished({ timeoutMs: 30_000 }, '1m')

  await t.runUntilIdle()

  expect(t.task('work:a')).toMatchObject({ status: 'failed', error: { name: 'TimedOut' } })
  expect(t.task('work:a').runs).toHaveLength(3)
})

it('a handler waits in virtual time, until its signal aborts', async () => {
  const reasons: string[] = []
  const wait = defineTask('wait', {
    timeoutMs: 60_000,
    retry: { maxRetries: 0 },
    run: async (_input, { signal }) => {
      await t.sleep('1h', signal)
      reasons.push(signal.reason.message)
    },
  })
  const t = await createTestSystem({ tasks: [wait] })
  await t.publish(wait, {}, { key: 'a' })

  await t.runUntilIdle()

  expect(reasons).toEqual(['the run is over: timed-out'])
  expect(t.now().toISOString()).toBe('2027-01-01T00:01:00.000Z')
})

it('a passed deadline is final', async () => {
  const { t, work } = await aPublished({ deadlineMs: 15_000 })

  t.fail(work, 'no answer', { times: 5 })
  await t.runUntilIdle()

  expect(t.task('work:a')).toMatchObject({ status: 'failed', error: { name: 'DeadlineExceeded' } })
  expect(t.now().toISOString()).toBe('2027-01-01T00:00:15.000Z')
})

it('real work takes no virtual time, and one handler ends before the next begins', async () => {
  const steps: string[] = []
  const slow = defineTask('slow', {
    run: async (_input, { key }) => {
      steps.push(`${key} begins`)
      await realSleep(5)
      steps.push(`${key} ends`)
    },
  })
  const t = await createTestSystem({ tasks: [slow] })
  for (const key of ['a', 'b']) await t.publish(slow, {}, { key })

  await t.advance(0)

  expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
  expect(t.now().toISOString()).toBe('2027-01-01T00:00:00.000Z')
})

it('a handler that does not end is named, and the message says how to wait in virtual time', async () => {
  const stuck = defineTask('stuck', { run: () => new Promise(() => {}) })
  const t = await createTestSystem({ tasks: [stuck], handlerPatienceMs: 20 })
  await t.publish(stuck, {}, { key: 'a' })

  await expect(t.advance('1m')).rejects.toThrow(
    /the handler of stuck:a has not ended after 20 ms of real time.*sleep/,
  )
})

it('a handler cannot call the test system, and a test cannot sleep', async () => {
  let system: TestSystem | undefined
  const odd = defineTask('odd', { retry: { maxRetries: 0 }, run: () => system?.advance('1s') })
  const t = await createTestSystem({ tasks: [odd] })
  system = t
  await t.publish(odd, {}, { key: 'a' })

  await t.runUntilIdle()

  expect(t.task('odd:a').error?.message).toMatch(/a handler cannot call the test system/)
  await expect(t.sleep('1s')).rejects.toThrow('a test moves the time with advance')
})
