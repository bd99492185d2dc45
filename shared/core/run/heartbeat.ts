import { type Change, type Guard, refuse } from '../change/change.ts'
import type { Json } from '../json.ts'
import { inRunningPlace } from '../place/place.ts'
import type { LiveRun, Task } from '../task/task.ts'
import { type RunGone, whyGone } from './run.ts'

export type Beat = { readonly born: string; readonly fence: number; readonly progress?: Json }

/**
 * A run's sign of life: its lease ends `leaseMs` from now. Guarded by the run alone, so it needs no current revision
 * and wakes nobody. A lease that has ended but was not recorded as lost is revived.
 */
export function heartbeat(
  task: Task | undefined,
  beat: Beat,
  now: number,
): { ok: true; change: Change; leaseUntil: number } | { ok: false; reason: RunGone } {
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

/** A run keeps the lease it was claimed with: a patch applies to runs claimed afterwards. */
function leaseMsOf({ options }: Task, run: LiveRun): number {
  return run.leaseMs ?? options.leaseMs
}

/** Of a lease, waited for at most between two beats, so that one that is late or lost costs no run. */
const MAX_BEAT_SHARE = 2 / 3

/** How long a run's worker waits before its next heartbeat, in ms: as the options now say, within the run's own lease. */
export function beatIntervalMs(task: Task, fence: number): number {
  const run = task.live[fence]
  const leaseMs = run ? leaseMsOf(task, run) : task.options.leaseMs
  return Math.min(task.options.heartbeatMs, Math.floor(leaseMs * MAX_BEAT_SHARE))
}

/** Only the beat that enters the running place depends on the rest of the task: it must not leave another place. */
function beatGuard(task: Task, after: Task, { born, fence }: Beat): Guard {
  if (after.place === task.place) return { kind: 'live', born, fence }
  return { kind: 'revision', born, revision: task.revision, leases: [] }
}
