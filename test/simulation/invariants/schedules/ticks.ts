import type { Timing } from '../../../../shared/core/task/head-fields.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import { START } from '../../world/world.ts'
import { isCreation } from '../publishing/tags.ts'

/** The ticks of simulated schedules, computed from their definitions alone. */

const DAY_MS = 86_400_000

/** The task that a write publishes for a tick; undefined for a task that an operator triggered. */
export function tickedBy(event: HistoryEvent): SeenHead | undefined {
  if (event.what !== 'write') return undefined
  const { before, after } = event
  const name = after.parentId?.startsWith('schedule:') ? after.parentId.slice('schedule:'.length) : undefined
  const isByHand = name === undefined || after.key.startsWith(`${name}@now-`)
  return isByHand || !isCreation(before, after) ? undefined : after
}

/**
 * The name of a tick. It includes the type: a schedule that got another type may publish for both where clocks
 * are wrong.
 */
export function nameOfTick({ parentId, id, schedule, dueAt }: SeenHead, type: string): string {
  return `${schedule ? id : parentId} ${dueAt} ${type}`
}

/** The ticks of a schedule from its due time until before `until`, by its definition. */
export function ticksBetween({ schedule, dueAt, createdAt }: SeenHead, until: number): number[] {
  if (!schedule) return []
  const { timing } = schedule
  if (timing.kind === 'at') return timing.at >= dueAt && timing.at < until ? [timing.at] : []
  const { everyMs, anchor } = rhythmOf(timing, createdAt)
  const found: number[] = []
  const first = Math.max(1, Math.ceil((dueAt - anchor) / everyMs))
  for (let tick = anchor + first * everyMs; tick < until; tick += everyMs) found.push(tick)
  return found
}

type Rhythm = { readonly everyMs: number; readonly anchor: number }

/** The rhythm of an interval, or of a cron expression for every few seconds or once a day in UTC. */
export function rhythmOf(timing: Exclude<Timing, { readonly kind: 'at' }>, createdAt: number): Rhythm {
  if (timing.kind === 'every') return { everyMs: timing.everyMs, anchor: createdAt }
  const { cron } = timing
  const seconds = /^\*\/(\d+) /.exec(cron)?.[1]
  if (seconds !== undefined) return { everyMs: Number(seconds) * 1_000, anchor: START }
  const [second = 0, minute = 0, hour = 0] = cron.split(' ').map(Number)
  return { everyMs: DAY_MS, anchor: START - DAY_MS + ((hour * 60 + minute) * 60 + second) * 1_000 }
}

export function textOfTick(tick: number): string {
  return `its tick at ${((tick - START) / 1_000).toFixed(3)}`
}
