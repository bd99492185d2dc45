/**
 * A transition takes a head and returns a change: the head before and after, and what must still hold in the store. It
 * writes nothing itself. All rooms above this one build their transitions from `revise`, which counts the revision and finds
 * the place of the task anew.
 *
 * Beside it stands what all transitions share: how runs end (`end-runs.ts`), how a task ends (`finished.ts`), which callers
 * are recorded (`operations.ts`), and how a task enters the line of its tenant (`entering.ts`).
 */

import { RECENT_RUNS_MAX } from '../bounds.ts'
import { indexed } from '../place/place.ts'
import type { BodyWrite } from '../task/body.ts'
import type { Task } from '../task/task.ts'

/**
 * What must still hold in the store for a change to be written.
 *
 * - `absent`    no item under this id
 * - `revision`  the very birth and revision that was decided on, and the very leases that were judged as ended:
 *               a heartbeat bumps no revision, so a run judged lost is named with the lease it was judged by
 * - `live`      the birth, and the run is still stored as running (a heartbeat's whole condition)
 * - `counted`   as `live`, for a success among several: the change moves its own run to the ended ones and writes nothing else,
 *               and the store adds one to the revision that it holds (see `run/several-successes.ts`)
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
 * One transition, ready to be written: the store changes exactly the paths in which `after` differs from `before`,
 * in one write, if the guard holds.
 */
export type Change = {
  readonly before: Task | undefined
  readonly after: Task
  readonly guard: Guard
  readonly bodies: readonly BodyWrite[]
}

/** What a transition says: a change to write, or why there is none. */
export type Decision<Refusal extends string> =
  | { readonly ok: true; readonly change: Change }
  | { readonly ok: false; readonly reason: Refusal }

export function refuse<Refusal extends string>(
  reason: Refusal,
): { readonly ok: false; readonly reason: Refusal } {
  return { ok: false, reason }
}

/**
 * Seals a draft into a change that holds only on the revision it was decided on: the next revision, its standing in
 * the indexes computed anew. Transitions work on drafts and end here.
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

/** What a limit made it wait for holds until the task changes. */
function withoutEndedWait(draft: Task): Task {
  if (!draft.wait || draft.operation === 'throttle' || draft.operation === 'block') return draft
  const { wait: _over, ...rest } = draft
  return rest
}

/** All successes and the last few others; what ended just now stays in any case, so that each run can be told why. */
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

/** The entries of a record without some of its keys. */
export function without<T>(record: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)))
}
