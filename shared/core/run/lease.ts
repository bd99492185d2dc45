import type { BodyWrite, Change, Decision, Guard, Lease } from '../change.ts'
import { endRuns, refuse, revise, runRecord } from '../change.ts'
import { withFailedPiece } from '../flow/pieces.ts'
import type { Options } from '../options.ts'
import { inRunningPlace } from '../place/place.ts'
import { type LiveRun, liveRuns, type Task } from '../task/task.ts'
import type { TaskError } from '../task-error/task-error.ts'
import { defined, type Json } from '../values/values.ts'
import { withFailure } from './judge-budget.ts'
import { type RunGone, whyGone } from './run.ts'

/**
 * How a task is taken over from a dead worker.
 *
 * The problem. A worker may die, hang, or lose its network at any moment. No other process can distinguish these cases. The task must
 * continue elsewhere soon, and the old worker must not write anything afterwards.
 *
 * The lease. A claim gives its run a lease: until `leaseUntil` no other worker may take the run's part of the task. Each heartbeat
 * sets that time to `leaseMs` from now (`heartbeat` below). At most two thirds of a lease pass between two heartbeats, so that a late
 * heartbeat costs no run.
 *
 * The fence. Each claim of a task gets the next fence. The head lists the live runs by their fences. Every later write of a run
 * names its birth and fence, and is accepted exactly while the head lists that run as live. No write depends on a clock.
 *
 * What happens, in order:
 *
 * 1. The claim changes the head, so the planner sends a look for the end of the lease (`wake.ts`).
 * 2. The waker receives the look and reads the head. If heartbeats have extended the lease, it sends the next look.
 * 3. If the lease has ended, `lose` below records the run as lost. The run is no longer live, and its loss counts against the
 *    retry budget. Another worker may claim the task at once, without a backoff.
 * 4. The planner sees that change and dispatches the task again.
 *
 * A claim may do step 3 itself: when the task has no room for another run, `claim.ts` records the ended leases in the same write.
 *
 * What can go wrong:
 *
 * - A heartbeat arrives just as the lease is judged. The write of the loss names each lease that it judged, so the heartbeat wins.
 * - The old worker is only slow. Its next heartbeat or its report is refused as `lost`, and its handler's signal aborts. Until then
 *   both handlers run. A handler with effects outside of Baton sends its idempotency key along, which all runs of the piece share.
 * - The old worker's clock is wrong. It stops its own handler when the lease has ended by its clock. A clock that is far behind
 *   makes it stop late, but its writes are still refused.
 * - The look is lost. The sweeper reads the places of running tasks and sends a new look within some minutes.
 * - A task kills each process that runs it. Each loss counts like a failure. A Lambda function then runs the task alone
 *   (`runtime/dispatch`), so the task cannot kill the runs of other tasks again and again.
 */

export type Beat = {
  readonly born: string
  readonly fence: number
  readonly progress?: Json
  readonly log?: string
}

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
  const { progress, log } = beat
  const renewed = { ...run, leaseUntil, ...defined({ progress, log }) }
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

/**
 * The lost runs that one write records. An update expression has at most 4 KB, and each lost run takes some 50 characters. The next
 * look records the rest.
 */
export const LOST_RUNS_PER_WRITE_MAX = 40

export function leaseEnded(run: LiveRun, now: number): boolean {
  return run.leaseUntil <= now
}

/**
 * Records as lost the runs whose lease has ended. Each counts against the retry budget, and another worker may claim the task at
 * once. The write's guard names the lease of each such run. A heartbeat that arrives between the read and the write therefore wins.
 */
export function lose(task: Task, now: number): Decision<'nothing-lost'> {
  const expired = liveRuns(task)
    .filter(run => leaseEnded(run, now))
    .slice(0, LOST_RUNS_PER_WRITE_MAX)
  if (task.state !== 'open' || expired.length === 0) return refuse('nothing-lost')
  const { draft, bodies } = endLost(task, expired, now)
  return revise(task, draft, now, { leases: expired.map(leaseOf), bodies })
}

export function leaseOf({ fence, leaseUntil }: LiveRun): Lease {
  return { fence, leaseUntil }
}

/** Ends `runs` as lost. Returns the changed task and the run records to write. */
export function endLost(
  task: Task,
  runs: readonly LiveRun[],
  now: number,
): { draft: Task; bodies: BodyWrite[] } {
  let draft: Task = { ...task, operation: 'lose' }
  const bodies: BodyWrite[] = []
  for (const run of runs) {
    // The loss of an earlier run in this loop has ended the piece, and this run with it.
    if (!draft.live[run.fence]) continue
    const error = { name: 'LeaseLost', message: `${run.workerId} sent no heartbeat` }
    const ending = { state: 'lost' as const, error }
    bodies.push(runRecord(draft, run, ending, now))
    draft = { ...draft, ...endRuns(draft, [run], ending, now) }
    if (draft.state === 'open') draft = withFailure(draft, run.workerId, error, now)
  }
  return { draft, bodies }
}

/** Whether the task's deadline has passed. A passed deadline ends the task even while it has live runs. */
export function isPastDeadline(task: Task, now: number): boolean {
  return task.state === 'open' && task.deadlineAt !== undefined && task.deadlineAt <= now
}

/** Fails the task, or the step of a flow, for good because its deadline has passed. Its live runs fail with it. */
export function expire(task: Task, now: number): Change<Task> {
  const error = deadlineExceeded(task)
  const live = liveRuns(task)
  const runs = endRuns(task, live, { state: 'failed', cause: 'timed-out', error }, now)
  const draft: Task = { ...task, ...runs, operation: 'expire' }
  return revise(task, withFailedPiece(draft, now, error, live.length), now).change
}

/** The error of a task whose deadline has passed, and of its live runs. */
export function deadlineExceeded({ options, flow, deadlineAt }: Task): TaskError {
  const isOfFlow = flow !== undefined && flow.direction === 'do' && deadlineAt === flow.deadlineAt
  if (isOfFlow) return exceeded(`the flow was not done within ${flow.deadlineMs} ms of its due time`)
  const since = flow ? 'its first claim' : 'its due time'
  return exceeded(`not done within ${options.deadlineMs} ms of ${since}`)
}

function exceeded(message: string): TaskError {
  return { name: 'DeadlineExceeded', message }
}
