import { expect, it } from 'vitest'
import { defineTask } from '../../shared/define/define-task.ts'
import { createTestSystem } from '../../shared/testing/index.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

it('a three-day ladder retries at its times, and fails at its end', async () => {
  const startedAt: string[] = []
  const call = defineTask('call', {
    retry: { maxRetries: 3, backoff: 'ladder', delaysMs: [MINUTE_MS, HOUR_MS, 3 * 24 * HOUR_MS] },
    run: () => {
      startedAt.push(t.now().toISOString())
      throw new Error('no answer')
    },
  })
  const t = await createTestSystem({ tasks: [call], now: '2027-03-01T08:00:00Z' })
  await t.publish(call, {}, { key: '1' })

  await t.advance('1h')
  const afterAnHour = t.task('call:1')
  await t.advance('4d')

  expect(afterAnHour).toMatchObject({ status: 'delayed', statusReason: 'retry', attempts: { used: 2 } })
  expect(startedAt).toEqual([
    '2027-03-01T08:00:00.000Z',
    '2027-03-01T08:01:00.000Z',
    '2027-03-01T09:01:00.000Z',
    '2027-03-04T09:01:00.000Z',
  ])
  expect(t.task('call:1')).toMatchObject({ status: 'failed', error: { message: 'no answer' } })
})
