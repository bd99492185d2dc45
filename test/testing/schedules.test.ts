import { expect, it } from 'vitest'
import { defineSchedule } from '../../shared/define/define-schedule.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import { createTestSystem } from '../../shared/testing/index.ts'

const report = defineTask('report', { run: () => ({ sent: true }) })
const nightly = { cron: '30 2 * * *', timezone: 'Europe/Berlin', task: { type: 'report' } }

it('a nightly cron leaves out the night whose time the clock skips', async () => {
  const t = await createTestSystem({ tasks: [report], now: '2027-03-26T12:00:00Z', schedules: { nightly } })

  await t.advance('4d')

  expect(t.tasks({ type: report }).map(({ startedAt }) => startedAt)).toEqual([
    '2027-03-27T01:30:00.000Z',
    // On the 28th the clock goes from 2:00 to 3:00.
    '2027-03-29T00:30:00.000Z',
    '2027-03-30T00:30:00.000Z',
  ])
})

it('a schedule is set, read, triggered, paused and removed', async () => {
  const t = await createTestSystem({ tasks: [report], now: '2027-05-01T00:00:00Z' })

  const set = await t.schedule('hourly', { cron: '0 * * * *', task: { type: 'report' } })
  const { taskId } = await t.triggerSchedule('hourly')
  await t.runUntilIdle()
  const paused = await t.pauseSchedule('hourly')
  await t.advance('5h30m')
  const duringPause = t.tasks({ type: report }).length
  await t.resumeSchedule('hourly')
  await t.advance('1h')

  expect(set).toMatchObject({ name: 'hourly', nextRunAt: '2027-05-01T01:00:00.000Z' })
  expect(t.task(taskId).status).toBe('succeeded')
  expect(paused.paused).toBe(true)
  expect(duringPause).toBe(1)
  expect(t.tasks({ type: 'report' })).toHaveLength(2)
  expect((await t.schedule('hourly')).lastRunAt).toBe('2027-05-01T06:00:00.000Z')

  await t.removeSchedule('hourly')
  await expect(t.schedule('hourly')).rejects.toThrow('there is no schedule hourly')
})

it('schedules in code tick as deployed ones, and the test cannot replace them', async () => {
  const hourly = defineSchedule('hourly', { cron: '0 * * * *', task: report.with({ days: 1 }) })
  const t = await createTestSystem({ tasks: [report], schedules: [hourly], now: '2027-05-01T00:00:00Z' })

  await t.advance('2h')

  expect(t.tasks({ type: report })).toHaveLength(2)
  expect((await t.schedule('hourly')).managedBy).toBe('test')
  await expect(t.schedule('hourly', hourly.schedule)).rejects.toThrow('keeps hourly')
  const missing = defineSchedule('other', { everyMs: 60_000, task: { type: 'reports' } })
  await expect(createTestSystem({ tasks: [report], schedules: [missing] })).rejects.toThrow(
    "schedule 'other': task.type must name a registered type",
  )
})

it('idle systems do not wait for the next ticks of schedules', async () => {
  const t = await createTestSystem({ tasks: [report], schedules: { nightly }, now: '2027-05-01T00:00:00Z' })
  await t.publish(report, {}, { delayMs: 60_000 })

  await t.runUntilIdle()

  expect(t.now().toISOString()).toBe('2027-05-01T00:01:00.000Z')
})
