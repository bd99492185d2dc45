import type { ScheduleState, Timing } from '../core/schedule/schedule.ts'
import { defined } from './defined.ts'

/** When a schedule runs, in its head; `late`: how many missed ticks it catches up on. */
export type ScheduleValue = {
  readonly cron?: string
  readonly tz?: string
  readonly every?: number
  readonly at?: number
  readonly late?: number
  readonly type: string
  readonly paused?: true
  readonly last?: number
  readonly resumed?: number
}

export function scheduleValue(schedule: ScheduleState): ScheduleValue {
  const { timing, missed, taskType, paused, lastRunAt, resumedAt } = schedule
  return defined({
    ...timingValue(timing),
    late: missed === 'skip' ? undefined : missed.catchUp,
    type: taskType,
    paused: paused ? (true as const) : undefined,
    last: lastRunAt,
    resumed: resumedAt,
  })
}

function timingValue(timing: Timing): Pick<ScheduleValue, 'cron' | 'tz' | 'every' | 'at'> {
  switch (timing.kind) {
    case 'cron':
      return { cron: timing.cron, tz: timing.timezone }
    case 'every':
      return { every: timing.everyMs }
    case 'at':
      return { at: timing.at }
  }
}

export function scheduleFrom(value: ScheduleValue): ScheduleState {
  const { late, type, paused, last, resumed } = value
  return defined({
    timing: timingFrom(value),
    missed: late === undefined ? ('skip' as const) : { catchUp: late },
    taskType: type,
    paused: paused ?? false,
    lastRunAt: last,
    resumedAt: resumed,
  })
}

function timingFrom({ cron, tz = 'UTC', every, at = 0 }: ScheduleValue): Timing {
  if (cron !== undefined) return { kind: 'cron', cron, timezone: tz }
  return every === undefined ? { kind: 'at', at } : { kind: 'every', everyMs: every }
}
