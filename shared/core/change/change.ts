/**
 * A transition takes a head and returns a change: the head before and after, and what must still hold in the store. It writes
 * nothing itself. All other rooms build their transitions from `revise`, which increments the revision and computes the task's
 * index entries anew.
 *
 * The other files hold what several transitions share:
 *
 * - `end-runs.ts`   ends runs
 * - `finished.ts`   ends a task
 * - `operations.ts` records the principals of changes that were asked for
 * - `entering.ts`   says how a change brings a task into the line of its tenant
 */

import { RECENT_RUNS_MAX } from '../bounds.ts'
import { indexed } from '../place/place.ts'
import type { BodyWrite } from '../task/body.ts'
import type { Task } from '../task/task.ts'

/**
 * What must still hold in the store for a change to be written.
 *
 * - `absent`    no item exists under this id
 * - `revision`  the stored birth and revision are those that the change was decided on, and so are the leases of runs judged lost.
 *               A heartbeat does not change the revision, so the guard names each such run with its lease
 * - `live`      the birth is the same, and the run is still stored as running. This is a heartbeat's whole condition
 * - `counted`   like `live`, for a success among several. The change only moves its own run to the ended ones, and the store adds
 *               one to the revision that it holds (see `run/several-successes.ts`)
 */
export type Guard =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'revision'
      readonly born: string
      readonly revision: number
      readonly leases: readonly Lease[]
    }
  | { readonly kind: 'live' | 'counted'; readonly born: string; readonly fence: number }

export type Lease = { readonly fence: number; readonly leaseUntil: number }

/**
 * One transition, ready to be written. If the guard holds, the store changes exactly the paths in which `after` differs from
 * `before`, in one write.
 */
export type Change = {
  readonly before: Task | undefined
  readonly after: Task
  readonly guard: Guard
  readonly bodies: readonly BodyWrite[]
}

/** The answer of a transition: a change to write, or the reason why there is none. */
export type Decision<Refusal extends string> =
  | { readonly ok: true; readonly change: Change }
  | { readonly ok: false; readonly reason: Refusal }

export function refuse<Refusal extends string>(
  reason: Refusal,
): { readonly ok: false; readonly reason: Refusal } {
  return { ok: false, reason }
}

/**
 * Turns a draft into a change with the next revision and new index entries. The change is guarded by the revision that it was
 * decided on. Every transition works on a draft and ends here.
 */
export function revise(
  before: Task,
  draft: Task,
  now: number,
  more: { leases?: readonly Lease[]; bodies?: readonly BodyWrite[] } = {},
): { readonly ok: true; readonly change: Change } {
  const { born, revision } = before
  const ended = recent(draft.ended, before.live)
  const after = indexed({ ...withoutEndedWait(draft), ended, revision: revision + 1, updatedAt: now }, now)
  const guard: Guard = { kind: 'revision', born, revision, leases: more.leases ?? [] }
  return { ok: true, change: { before, after, guard, bodies: more.bodies ?? [] } }
}

/** The draft without its wait for a limit, which lasts only until the task changes. */
function withoutEndedWait(draft: Task): Task {
  if (!draft.wait || draft.operation === 'throttle' || draft.operation === 'block') return draft
  const { wait: _over, ...rest } = draft
  return rest
}

/** All successes and the last few other runs. Runs that this change ends stay in any case, so that each worker can learn why. */
function recent(ended: Task['ended'], endedNow: Task['live']): Task['ended'] {
  const others = Object.values(ended)
    .filter(run => run.state !== 'succeeded' || run.past)
    .sort((a, b) => a.endedAt - b.endedAt || a.fence - b.fence)
  const old = others
    .slice(0, Math.max(0, others.length - RECENT_RUNS_MAX))
    .filter(run => !endedNow[run.fence])
  return without(
    ended,
    old.map(run => String(run.fence)),
  )
}

/** The record without some of its keys. */
export function without<T>(record: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)))
}
