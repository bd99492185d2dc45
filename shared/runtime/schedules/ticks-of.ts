import { type Ticks, ticksAt, ticksEvery } from '../../core/schedule/due-ticks.ts'
import type { Timing } from '../../core/schedule/schedule.ts'
import { cronTicks } from './cron-ticks.ts'

/** The ticks of a timing; `createdAt` is when its schedule was created. */
export function ticksOf(timing: Timing, createdAt: number): Ticks {
  switch (timing.kind) {
    case 'cron':
      return cronTicks(timing.cron, timing.timezone)
    case 'every':
      return ticksEvery(timing.everyMs, createdAt)
    case 'at':
      return ticksAt(timing.at)
  }
}
