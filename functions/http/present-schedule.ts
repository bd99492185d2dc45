import type { ApiSchedule } from '../../shared/client/schedule-types.ts'
import type { Timing } from '../../shared/core/task/schedule-state.ts'
import type { ScheduleDescription } from '../../shared/runtime/schedule/read-schedules.ts'
import { iso } from './iso.ts'
import { presentOperations } from './present.ts'

/** A described schedule as the API shows it. */
export function presentSchedule({ head, task, nextRunAt }: ScheduleDescription): ApiSchedule {
  const { schedule, error, finishedAt } = head
  return {
    name: head.key,
    ...presentTiming(schedule.timing),
    missed: schedule.missed,
    graceMs: schedule.graceMs,
    task,
    paused: schedule.paused,
    ...(schedule.lastRunAt !== undefined && { lastRunAt: iso(schedule.lastRunAt) }),
    ...(nextRunAt !== undefined && { nextRunAt: iso(nextRunAt) }),
    ...(error && { lastError: error }),
    createdAt: iso(head.createdAt),
    updatedAt: iso(head.updatedAt),
    ...presentOperations(head),
    ...(finishedAt !== undefined && { finishedAt: iso(finishedAt) }),
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
