import { afterEach, expect, it, vi } from 'vitest'
import { defineTask } from '../../shared/define/define-task.ts'
import { createTestSystem } from '../../shared/testing/index.ts'

afterEach(() => void vi.useRealTimers())

it('a test may fake all timers of its process, and the date that handlers read', async () => {
  const dates: string[] = []
  const dated = defineTask('dated', { run: () => void dates.push(new Date().toISOString()) })
  const t = await createTestSystem({ tasks: [dated], now: '2027-06-01T12:00:00Z' })
  vi.useFakeTimers({ now: t.now() })
  await t.publish(dated, {}, { key: 'a', delayMs: 86_400_000 })

  await t.advance('23h')
  vi.setSystemTime(t.now())
  await t.advance('1h')

  expect(t.task('dated:a').startedAt).toBe('2027-06-02T12:00:00.000Z')
  expect(dates).toEqual(['2027-06-02T11:00:00.000Z'])
})
