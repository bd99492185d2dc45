import { MAX_QUEUE_DELAY_MS } from '../core/limits.ts'
import { startsAt } from '../core/place.ts'
import type { Task } from '../core/task.ts'

/** A worker waits in place for a dispatch that arrives early by less than this. An earlier one goes back with a delay. */
const MAX_WAIT_MS = 1_500

/**
 * With how many seconds of delay a dispatch is sent back whose time has not come although it was waited for: the clock was set
 * back meanwhile, and a claim would be refused as not due. Undefined: its time has come.
 */
export function setBackSeconds({ dueAt }: Task, now: number): number | undefined {
  return dueAt > now ? Math.ceil(Math.min(dueAt - now, MAX_QUEUE_DELAY_MS) / 1_000) : undefined
}

/** With how many seconds of delay a dispatch that came too early is sent back; undefined: wait out the rest. */
export function sendBackSeconds(task: Task, now: number): number | undefined {
  const early = startsAt(task) - now
  return early > MAX_WAIT_MS ? Math.floor(Math.min(early, MAX_QUEUE_DELAY_MS) / 1_000) : undefined
}
