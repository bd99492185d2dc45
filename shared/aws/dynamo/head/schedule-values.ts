import { SCHEDULE_GRACE_MS } from '../../../core/bounds.ts'
import { defined } from '../../../core/defined.ts'
import type { Pause, ScheduleState, Timing } from '../../../core/task/schedule-state.ts'

/**
 * When a schedule runs, in its head. `late` is the number of due ticks that it catches up on. `grace` is left out when it has
 * the default. `pauses` are pairs of beginning and end.
 */
export type ScheduleValue = {
  readonly cron?: string
  readonly tz?: string
  readonly every?: number
  readonly at?: number
  readonly late?: number
  readonly grace?: number
  readonly type: string
  readonly paused?: true
  readonly last?: number
  readonly pauses?: ReadonlyArray<readonly number[]>
}

export function scheduleValue(schedule: ScheduleState): ScheduleValue {
  const { timing, missed, graceMs, taskType, paused, lastRunAt, pauses } = schedule
  return defined({
    ...timingValue(timing),
    late: missed === 'skip' ? undefined : missed.catchUp,
    grace: graceMs === SCHEDULE_GRACE_MS ? undefined : graceMs,
    type: taskType,
    paused: paused ? (true as const) : undefined,
    last: lastRunAt,
    pauses: pauses?.map(({ from, to }) => (to === undefined ? [from] : [from, to])),
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
  const { late, grace = SCHEDULE_GRACE_MS, type, paused, last, pauses } = value
  return defined({
    timing: timingFrom(value),
    missed: late === undefined ? ('skip' as const) : { catchUp: late },
    graceMs: grace,
    taskType: type,
    paused: paused ?? false,
    lastRunAt: last,
    pauses: pauses?.map(pauseFrom),
  })
}

function pauseFrom([from = 0, to]: readonly number[]): Pause {
  return to === undefined ? { from } : { from, to }
}

function timingFrom({ cron, tz = 'UTC', every, at = 0 }: ScheduleValue): Timing {
  if (cron !== undefined) return { kind: 'cron', cron, timezone: tz }
  return every === undefined ? { kind: 'at', at } : { kind: 'every', everyMs: every }
}
