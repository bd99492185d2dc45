import { type Change, type Guard, refuse } from '../change.ts'
import type { Options } from '../options.ts'
import { inRunningPlace } from '../place/place.ts'
import type { LiveRun, Task } from '../task/task.ts'
import type { Json } from '../values/values.ts'
import { type RunGone, whyGone } from './run.ts'

export type Beat = { readonly born: string; readonly fence: number; readonly progress?: Json }

/**
 * A run's sign of life: its lease now ends `leaseMs` from now. The run alone guards the change, so it needs no current revision.
 * The planner sends nothing after it. A heartbeat revives a run whose lease has ended, unless the run is recorded as lost.
 */
export function heartbeat(
  task: Task | undefined,
  beat: Beat,
  now: number,
): { ok: true; change: Change<Task>; leaseUntil: number } | { ok: false; reason: RunGone } {
  const run = task?.born === beat.born ? task.live[beat.fence] : undefined
  if (!task || !run) return refuse(whyGone(task, beat))
  const leaseUntil = now + leaseMsOf(task, run)
  const renewed = { ...run, leaseUntil, ...(beat.progress !== undefined && { progress: beat.progress }) }
  const after = inRunningPlace({
    ...task,
    operation: 'beat',
    live: { ...task.live, [beat.fence]: renewed },
  })
  return {
    ok: true,
    leaseUntil,
    change: { before: task, after, guard: beatGuard(task, after, beat), bodies: [] },
  }
}

/** A run keeps the lease length of its claim. A patch applies to runs that are claimed afterwards. */
function leaseMsOf({ options }: Task, run: LiveRun): number {
  return run.leaseMs ?? options.leaseMs
}

/** The share of a lease that may pass between two heartbeats, so that one late heartbeat costs no run. */
const BEAT_SHARE_MAX = 2 / 3

/** The first heartbeat is sent after this time at the latest, so that lists show a run as running within two seconds. */
export const FIRST_BEAT_MS_MAX = 1_500

/** Milliseconds until the next heartbeat of a run: the interval of the present options, at most two thirds of the run's lease. */
export function beatIntervalMs(task: Task, fence: number): number {
  const run = task.live[fence]
  const leaseMs = run ? leaseMsOf(task, run) : task.options.leaseMs
  return intervalMs({ heartbeatMs: task.options.heartbeatMs, leaseMs })
}

/** The interval of heartbeats that keep a lease of this length. */
export function intervalMs({ heartbeatMs, leaseMs }: Pick<Options, 'heartbeatMs' | 'leaseMs'>): number {
  return Math.min(heartbeatMs, Math.floor(leaseMs * BEAT_SHARE_MAX))
}

/**
 * The guard of a heartbeat. A heartbeat that moves the task to its running place is guarded by the revision, because the task must
 * still be in no other place.
 */
function beatGuard(task: Task, after: Task, { born, fence }: Beat): Guard {
  if (after.place === task.place) return { kind: 'live', born, fence }
  return { kind: 'revision', born, revision: task.revision, leases: [] }
}
