import { defineSchedule } from '../../../shared/define/define-schedule.ts'
import { defineTask } from '../../../shared/define/define-task.ts'

export const report = defineTask('report', { run: input => ({ reported: input }) })

/** A day that is far enough, so that no tick comes while a test runs. */
export const nightly = defineSchedule('nightly', {
  cron: '0 3 29 2 *',
  timezone: 'Europe/Berlin',
  task: report.with({ days: 1 }),
})
