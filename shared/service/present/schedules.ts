import type { ApiSchedule } from '../../api/schedules.ts'
import { editsOf } from '../../core/change/edits.ts'
import type { Timing } from '../../core/task/schedule-state.ts'
import { defined } from '../../core/values/defined.ts'
import type { ScheduleDescription } from '../../runtime/schedule/read-schedules.ts'
import { iso, isoOf } from './iso.ts'
import { presentOperations } from './tasks.ts'

/** A described schedule as the API shows it. */
export function presentSchedule({ head, task, nextRunAt }: ScheduleDescription): ApiSchedule {
  const { schedule, error, finishedAt } = head
  return {
    name: head.key,
    ...presentTiming(schedule.timing),
    ...defined({
      missed: schedule.missed,
      graceMs: schedule.graceMs,
      task,
      paused: schedule.paused,
      lastRunAt: isoOf(schedule.lastRunAt),
      nextRunAt: isoOf(nextRunAt),
      lastError: error,
      createdAt: iso(head.createdAt),
      updatedAt: iso(head.updatedAt),
      revision: editsOf(head),
      finishedAt: isoOf(finishedAt),
    }),
    ...presentOperations(head),
  }
}

function presentTiming(timing: Timing): Pick<ApiSchedule, 'cron' | 'timezone' | 'everyMs' | 'at'> {
  switch (timing.kind) {
    case 'cron':
      return { cron: timing.cron, timezone: timing.timezone }
    case 'every':
      return { everyMs: timing.everyMs }
    case 'at':
      return { at: iso(timing.at) }
  }
}
