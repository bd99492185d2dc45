/**
 * A transition takes a head and returns a change: the head before and after, and what must still hold in the store. It writes
 * nothing itself. All other rooms build their transitions from `revise`, which increments the revision and computes the head's
 * index entries, or from `beginBirth`, which makes the first change of a birth.
 *
 * A change belongs to one kind of head, so a change of a task cannot be written for a canvas or a schedule.
 *
 * This file also counts the changes of people and records their principals. Its end has the parts of transitions that end runs and heads.
 */

import { OPERATIONS_KEPT_MAX, RECENT_RUNS_MAX } from './bounds.ts'
import { withIndexEntries } from './place/place.ts'
import { firstFence, type Head, isCanvas, isTask } from './task/head.ts'
import type { HeadFields, HeadState, Operation, OperationRecord, ValueWrite } from './task/head-fields.ts'
import { bodyExpiry, bodyRef } from './task/head-fields.ts'
import { pieceOf } from './task/piece.ts'
import { type EndedRun, isSuccess, type LiveRun, liveRuns, runInHead, type Task } from './task/task.ts'
import { shortError, type TaskError } from './task-error/task-error.ts'
import { defined, membersWhere } from './values/values.ts'
import { withOwnRetriesJudged } from './worker.ts'

/**
 * What must still hold in the store for a change to be written.
 *
 * - `absent`    no item exists under this id
 * - `revision`  the stored birth and revision have not changed since the decision, nor have the leases of runs that it judged lost.
 *               A heartbeat does not change the revision, so the guard names each run judged lost, with its lease
 * - `live`      the birth is the same, and the run is still stored as running. A heartbeat needs nothing else
 * - `counted`   like `live`, for a success among several. The change only moves its own run to the ended ones, and the store adds
 *               one to the stored revision (see `run/finish.ts`)
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

/** An item that is written in addition to the head: an input, a result, or the full record of an ended run. */
export type BodyWrite =
  | ValueWrite
  | { readonly ref: string; readonly run: EndedRun; readonly expiresAt: number }

/**
 * One transition, ready to be written. If the guard holds, the store changes exactly the paths in which `after` differs from
 * `before`, in one write.
 */
export type Change<H extends Head = Head> = {
  readonly before: H | undefined
  readonly after: H
  readonly guard: Guard
  readonly bodies: readonly BodyWrite[]
}

/** The answer of a transition: a change to write, or the reason why there is none. `H` is the kind of head, by default a task. */
export type Decision<Refusal extends string, H extends Head = Task> = Accepted<H> | Refused<Refusal>
export type Accepted<H extends Head = Task> = { readonly ok: true; readonly change: Change<H> }
type Refused<Refusal extends string> = { readonly ok: false; readonly reason: Refusal }

export function refuse<Refusal extends string>(reason: Refusal): Refused<Refusal> {
  return { ok: false, reason }
}

export function isOfTask(change: Change): change is Change<Task> {
  return isTask(change.after)
}

/** The revision, fence and operation with which a birth begins. The revisions and fences of a key grow for ever (see `firstFence`). */
export type Start = Pick<HeadFields, 'revision' | 'fence' | 'operation' | 'edits'>

/**
 * Begins a birth where no head exists, or over the remains of one that is gone. Guard: no item exists, or exactly those remains.
 * A birth over remains counts as an edit, so a revision that was read before does not fit it.
 */
export function beginBirth<H extends Head>(
  remains: H | undefined,
  newborn: (start: Start) => { readonly draft: H; readonly bodies: readonly BodyWrite[] },
  now: number,
): Change<H> {
  const revision = (remains?.revision ?? 0) + 1
  const fence = Math.max(remains?.fence ?? 0, firstFence(now))
  const { draft, bodies } = newborn({
    revision,
    fence,
    operation: 'publish',
    ...(remains && !isCanvas(remains) && { edits: editsOf(remains) + 1 }),
  })
  if (remains) return revise(remains, draft, now, { bodies }).change
  return { before: undefined, after: withIndexEntries(draft, now), guard: { kind: 'absent' }, bodies }
}

/**
 * Turns a draft into a change with the next revision and new index entries. The change is guarded by the revision that it was
 * decided on. Every transition works on a draft and ends here.
 */
export function revise<H extends Head>(
  before: H,
  draft: H,
  now: number,
  more: { leases?: readonly Lease[]; bodies?: readonly BodyWrite[] } = {},
): Accepted<H> {
  const { born, revision } = before
  const kept = isTask(before) && isTask(draft) ? withoutExcess(draft, before.live, now) : draft
  const edits = kept.edits ?? before.edits
  const fields = { ...kept, ...defined({ edits }), revision: revision + 1, updatedAt: now }
  const after = withIndexEntries(fields as H, now)
  const guard: Guard = { kind: 'revision', born, revision, leases: more.leases ?? [] }
  return { ok: true, change: { before, after, guard, bodies: more.bodies ?? [] } }
}

/** The draft without a wait that is over, retries that are due, and old ended runs, as a head keeps it. */
function withoutExcess(draft: Task, endedNow: Task['live'], now: number): Task {
  return { ...withOwnRetriesJudged(withoutEndedWait(draft), now), ended: keptRuns(draft.ended, endedNow) }
}

/** The draft without its wait for a limit, which lasts only until the task changes. */
function withoutEndedWait(draft: Task): Task {
  if (!draft.wait || draft.operation === 'throttle' || draft.operation === 'block') return draft
  const { wait: _over, ...rest } = draft
  return rest
}

/** All successes, the last few other runs, and all runs that this change ends, so that each worker can learn why its run ended. */
function keptRuns(ended: Task['ended'], endedNow: Task['live']): Task['ended'] {
  const others = Object.values(ended)
    .filter(run => !isSuccess(run))
    .sort((a, b) => a.endedAt - b.endedAt || a.fence - b.fence)
  const old = others.slice(0, Math.max(0, others.length - RECENT_RUNS_MAX))
  return membersWhere(ended, run => !old.includes(run) || endedNow[run.fence] !== undefined)
}

/**
 * Callers see the number of a task's, type's or schedule's edits as its `revision`. An edit is a change that a person asked for,
 * such as a patch, a pause or a cancel. Claims, ends of runs, ticks and other work of the machinery are not edits. So a caller that
 * names the revision it has read is refused after another person's change, and never because the machinery has worked.
 */

/** What has edits: a head or a type. Items of earlier versions store no number, which counts as 0. */
export type Edited = {
  /** The number of edits. 0 when left out. */
  readonly edits?: number
  readonly operations?: readonly OperationRecord[]
}

/** The revision that a caller expects. Left out, any revision fits. */
export type Expected = {
  readonly ifRevision?: number
  /** What must hold for the task in the write itself. Only a job asks for it. */
  readonly isStill?: (task: Task) => boolean
}

/** Recorded operations that are not edits: they start something, and change nothing that a caller can set. */
const NO_EDITS: ReadonlySet<string> = new Set(['trigger', 'purge', 'bulk'])

function isEdit(what: string): boolean {
  return !NO_EDITS.has(what)
}

export function editsOf({ edits = 0 }: Edited): number {
  return edits
}

/** Whether the caller decided on an earlier state. Something that does not exist has the revision 0. */
export function isStale(present: Edited | undefined, { ifRevision }: Expected): boolean {
  return ifRevision !== undefined && ifRevision !== editsOf(present ?? {})
}

export function lastEdit({ operations = [] }: Edited): OperationRecord | undefined {
  return operations.findLast(({ what }) => isEdit(what))
}

/** The principal that asks for a change, and the name of the change. Without `what` the change is named after its operation. */
export type Operator = { readonly by: string; readonly what?: string }

/** The operations that callers ask for by name. All other writes follow from such a request or from the system's own work. */
const ASKED_FOR: ReadonlySet<Operation> = new Set(['update', 'patch', 'cancel', 'restart', 'resume'])

/**
 * The change with a record of its principal, if callers ask for it by name. The creation of a schedule is recorded; the publish of
 * a task is not.
 */
export function withOperation(change: Change, { by, what }: Operator, now: number): Change {
  const { before, after } = change
  const isCreation = after.operation === 'publish' && after.kind === 'schedule'
  if (!isCreation && !ASKED_FOR.has(after.operation)) return change
  const earlier = isCreation ? undefined : before?.operations
  return {
    ...change,
    after: {
      ...after,
      ...withRecorded({ ...after, operations: earlier }, { at: now, by, what: what ?? after.operation }),
    },
  }
}

/** Adds a record, and counts it as an edit if it is one. */
export function withRecorded(
  earlier: {
    readonly edits?: number | undefined
    readonly operations?: HeadFields['operations'] | undefined
  },
  record: OperationRecord,
): Pick<HeadFields, 'edits' | 'operations'> {
  const { edits = 0, operations } = earlier
  return {
    ...((edits > 0 || isEdit(record.what)) && { edits: edits + (isEdit(record.what) ? 1 : 0) }),
    operations: withRecord(operations, record),
  }
}

/** The last `OPERATIONS_KEPT_MAX` records, oldest first. */
function withRecord(
  earlier: HeadFields['operations'] = [],
  record: OperationRecord,
): readonly OperationRecord[] {
  return [...earlier, record].slice(-OPERATIONS_KEPT_MAX)
}

type EndState = Exclude<HeadState, 'open' | 'removed'>

/** The fields that each head gets at its end. Its retention begins. */
export function endFields<State extends EndState>(
  { options }: Pick<HeadFields, 'options'>,
  state: State,
  now: number,
  error?: TaskError,
) {
  return {
    state,
    finishedAt: now,
    expiresAt: now + options.retentionMs,
    ...(error && { error: shortError(error) }),
  }
}

/** The draft of an ended task. Its live runs are cancelled, its retention begins, and it owes the callbacks for this end. */
export function withEnd(task: Task, state: EndState, now: number, error?: TaskError): Task {
  const { error: _earlier, owes: _owed, ...rest } = task
  return {
    ...rest,
    ...endFields(task, state, now, error),
    ...endRuns(task, liveRuns(task), { state: 'cancelled' }, now),
    retrying: false,
    retryAtBy: {},
    ...(owesCallbacks(task, state) && { owes: true as const }),
  }
}

/** A cancelled task publishes no callbacks. */
function owesCallbacks({ callbacks }: Task, state: EndState): boolean {
  if (!callbacks) return false
  return (state === 'succeeded' && callbacks.onSuccess > 0) || (state === 'failed' && callbacks.onError > 0)
}

type Ending = Pick<EndedRun, 'state'> &
  Partial<Pick<EndedRun, 'cause' | 'error' | 'result' | 'log' | 'reportDigest'>>

/** The live and ended runs of a task after these live runs have ended. */
export function endRuns(
  task: Task,
  runs: readonly LiveRun[],
  ending: Ending,
  now: number,
): Pick<Task, 'live' | 'ended'> {
  const ended = { ...task.ended }
  for (const run of runs) ended[run.fence] = runInHead(endedRun(task, run, ending, now))
  return { live: membersWhere(task.live, ({ fence }) => !ended[fence]), ended }
}

function endedRun(task: Task, run: LiveRun, ending: Ending, now: number): EndedRun {
  const { startedAt, leaseUntil: _until, timeoutAt: _at, leaseMs: _ms, permits: _held, ...rest } = run
  const piece = pieceOf(task)
  // A run may end before its reserved start, and its start must not lie behind its end. Its end is the time of this change: by that, events
  // and counts see the runs that a change ends.
  const times = { startedAt: Math.min(startedAt, now), endedAt: now }
  return { ...rest, ...times, ...ending, ...(piece !== undefined && { piece }) }
}

/**
 * The full record of a run that ends without success, as an item of its own. The head drops all but the last few such runs, and
 * keeps no stacks, causes or logs.
 */
export function runRecord(task: Task, run: LiveRun, ending: Ending, now: number): BodyWrite {
  const expiresAt = bodyExpiry(task.dueAt, now, task.options.retentionMs)
  return { ref: bodyRef.run(task.born, run.fence), run: endedRun(task, run, ending, now), expiresAt }
}
