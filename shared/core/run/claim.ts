import { ANSWER_BYTES_MAX, CLAIMED_LISTS_BYTES_MAX } from '../bounds.ts'
import { type BodyWrite, type Change, type Decision, type Lease, refuse, revise } from '../change.ts'
import { beginPiece } from '../flow/pieces.ts'
import { bodyBytes } from '../task/head-fields.ts'
import { actionOf, isSamePiece } from '../task/piece.ts'
import type { EndedRun, LiveRun, Permit, Previous, Task } from '../task/task.ts'
import { liveRuns, successes, workersWanted } from '../task/task.ts'
import { defined, escapedBytes, type Json, jsonBytes } from '../values/values.ts'
import { hasBudget, versionSuffices, waitsForOwnRetry } from '../worker.ts'
import { finish } from './finish.ts'
import { endLost, expire, isPastDeadline, LOST_RUNS_PER_WRITE_MAX, leaseEnded, leaseOf } from './lease.ts'

export type Claimer = { readonly workerId: string; readonly version?: string }

/** What limits have granted to a run: its permits, and its reserved start, which may lie a little before or after `now`. */
type Granted = { readonly permits?: readonly Permit[]; readonly startsAt?: number | undefined }

export type ClaimRefusal =
  | 'finished'
  | 'not-due'
  | 'waits-for-own-retry'
  | 'not-allowed'
  | 'holds-run'
  | 'already-succeeded'
  | 'budget-spent'
  | 'no-worker-wanted'

export type ClaimDecision =
  | { readonly ok: true; readonly change: Change<Task>; readonly run: LiveRun }
  /** `change`, if present, records what the claim found: lost runs that end the task, or a passed deadline. */
  | { readonly ok: false; readonly reason: ClaimRefusal; readonly change?: Change<Task> }

/**
 * The judgement, at one time, whether a worker may take a task. `draft` is the task after the loss of the runs that the claim
 * replaces. The guard names the leases of those runs.
 */
export type ClaimJudgement = Judged & (Claimable | RefusedClaim)

type Judged = { readonly task: Task; readonly claimer: Claimer; readonly judgedAt: number }
type Claimable = {
  readonly ok: true
  readonly draft: Task
  readonly leases: readonly Lease[]
  readonly bodies: readonly BodyWrite[]
}
type RefusedClaim = Extract<ClaimDecision, { ok: false }>

/** Judges whether the worker may take the task. Runs past their lease whose room the claim needs are judged lost. */
export function judgeClaim(task: Task, claimer: Claimer, now: number): ClaimJudgement {
  return { task, claimer, judgedAt: now, ...judge(task, claimer, now) }
}

function judge(task: Task, claimer: Claimer, now: number): Claimable | RefusedClaim {
  if (task.state !== 'open') return refuse('finished')
  if (isPastDeadline(task, now)) return { ...refuse('finished'), change: expire(task, now) }
  const expired = replaceableRuns(task, claimer, now)
  const { draft, bodies } = endLost(task, expired, now)
  const leases = expired.map(leaseOf)
  if (draft.state !== 'open' || !isSamePiece(task, draft)) {
    return { ...refuse('budget-spent'), change: revise(task, draft, now, { leases, bodies }).change }
  }
  const reason = reasonToRefuse(draft, claimer, now)
  return reason ? refuse(reason) : { ok: true, draft, leases, bodies }
}

/** Whether a claim with this judgement would write the task. A refused claim may write a lost run or a passed deadline, too. */
export function wouldWrite(judged: ClaimJudgement): boolean {
  return judged.ok || judged.change !== undefined
}

/**
 * Whether the judgement still holds at `now`. A claimable task stays claimable until its deadline, as long as its head is the same.
 * A judgement that ends runs or the task, and any refusal, holds for its own moment only.
 */
export function stillHolds(judged: ClaimJudgement, task: Task, claimer: Claimer, now: number): boolean {
  if (judged.task !== task || judged.claimer !== claimer) return false
  if (judged.judgedAt === now) return true
  return judged.ok && judged.leases.length === 0 && judged.judgedAt < now && !isPastDeadline(task, now)
}

/**
 * A worker takes the task and gets the next fence. The run lasts until its lease ends, unless heartbeats extend the lease. The same
 * write records the runs that the claim replaces as lost. The claim is judged at `now`, also when the run starts later. The
 * judgement `known` is used instead while it still holds.
 */
export function claim(
  task: Task,
  claimer: Claimer,
  now: number,
  { permits = [], startsAt = now }: Granted = {},
  known?: ClaimJudgement,
): ClaimDecision {
  const judged = known && stillHolds(known, task, claimer, now) ? known : judgeClaim(task, claimer, now)
  if (!judged.ok) return { ok: false, reason: judged.reason, ...defined({ change: judged.change }) }
  if (isPastDeadline(task, startsAt)) return refuse('finished')
  const { leases, bodies } = judged
  const from = Math.max(now, startsAt)
  const run: LiveRun = {
    fence: task.fence + 1,
    workerId: claimer.workerId,
    startedAt: startsAt,
    leaseUntil: from + task.options.leaseMs,
    ...(task.options.timeoutMs !== undefined && { timeoutAt: from + task.options.timeoutMs }),
    ...(permits.length > 0 && { permits }),
  }
  const draft: Task = {
    ...judged.draft,
    operation: 'claim',
    fence: run.fence,
    retrying: false,
    startedAt: task.startedAt ?? startsAt,
    live: { ...judged.draft.live, [run.fence]: run },
  }
  return { ...revise(task, beginPiece(draft, startsAt), now, { leases, bodies }), run }
}

/** Runs past their lease that the claim replaces: all of them when the task is fully taken, else the claimer's own. */
function replaceableRuns(task: Task, claimer: Claimer, now: number): LiveRun[] {
  const isFullyTaken = workersWanted(task) <= 0
  return liveRuns(task)
    .filter(run => leaseEnded(run, now) && (isFullyTaken || run.workerId === claimer.workerId))
    .slice(0, LOST_RUNS_PER_WRITE_MAX)
}

function reasonToRefuse(task: Task, claimer: Claimer, now: number): ClaimRefusal | undefined {
  if (task.dueAt > now) return 'not-due'
  if (!isListedAndNewEnough(task, claimer)) return 'not-allowed'
  if (liveRuns(task).some(isBy(claimer))) return 'holds-run'
  if (successes(task).some(isBy(claimer))) return 'already-succeeded'
  if (!hasBudget(task, claimer.workerId)) return 'budget-spent'
  if (waitsForOwnRetry(task, claimer.workerId, now)) return 'waits-for-own-retry'
  return workersWanted(task) > 0 ? undefined : 'no-worker-wanted'
}

function isBy(claimer: Claimer): (run: LiveRun | EndedRun) => boolean {
  return run => run.workerId === claimer.workerId
}

/** Whether the options allow this worker to take the task. */
function isListedAndNewEnough(task: Task, claimer: Claimer): boolean {
  const { workerIds, minWorkerVersion } = task.options
  const listed = workerIds.length === 0 || workerIds.includes(claimer.workerId)
  return listed && versionSuffices(claimer.version, minWorkerVersion)
}

/**
 * Records as a failed run a claim that the store refuses because of its content. The run begins and ends in one write and holds no
 * permits. So the claim costs a retry, and its worker does not claim the task before that retry is due. When the budget is spent, the task
 * fails with the reason on record.
 */
export function failRefusedClaim(
  task: Task,
  claimer: Claimer,
  message: string,
  now: number,
  chance: number,
): Decision<'not-claimable'> {
  const claimed = claim(task, claimer, now)
  if (!claimed.ok) return refuse('not-claimable')
  const { change, run } = claimed
  const report = {
    born: task.born,
    fence: run.fence,
    outcome: 'fail' as const,
    error: { name: 'ClaimRefused', message },
  }
  const failed = finish(change.after, report, now, chance)
  if (!failed.ok || !failed.change) return refuse('not-claimable')
  const after = { ...failed.change.after, revision: change.after.revision }
  return { ok: true, change: { ...change, after, bodies: [...change.bodies, ...failed.change.bodies] } }
}

/**
 * The bytes of an answer that a claimed task takes, as escaped JSON. Lambda drops an answer that is too large, after its tasks have
 * been claimed. So a claim must know before its write that the answer can be delivered. Of a body that is kept apart, the head has
 * only the size. Escaping at most doubles a size.
 */

/** The bytes that a claim shows besides the stored fields: names of fields, the run, times as text. */
const FRAME_BYTES = 4_096
/** The bytes that each run, and each step of a flow, adds to `FRAME_BYTES`. */
const PART_FRAME_BYTES = 640
/** A claim shows an ended run in `runs` and in `history`, and a result in its run and in a field of its own. */
const MOST_MENTIONS = 2
const MOST_ESCAPED = 2

/** The size of an answer over HTTP. `hasLists`: a canvas hands a list on to one of the answer's tasks. */
type AnswerSize = { readonly tasks: number; readonly bytes: number; readonly hasLists: boolean }

export const EMPTY_ANSWER: AnswerSize = { tasks: 0, bytes: 0, hasLists: false }

export function withTask({ tasks, bytes, hasLists }: AnswerSize, task: Task): AnswerSize {
  const isList = task.previous?.kind === 'node'
  return { tasks: tasks + 1, bytes: bytes + claimBytesMax(task), hasLists: hasLists || isList }
}

/**
 * Whether the claims might not fit into one answer. A single claim always fits. All claims of an answer share the bytes for the
 * lists that canvases hand on, and the answer shows each list twice, escaped.
 */
export function isTooLarge({ tasks, bytes, hasLists }: AnswerSize): boolean {
  const listBytes = hasLists ? 4 * CLAIMED_LISTS_BYTES_MAX : 0
  return tasks > 1 && bytes + listBytes > ANSWER_BYTES_MAX
}

/** The most bytes that a claim of the task takes, without a list that a canvas hands on. */
export function claimBytesMax(task: Task): number {
  return claimFrameBytes(task) + MOST_ESCAPED * contentBytes(task)
}

/** The most bytes that a claim shows besides `input`, `params` and `previous`. */
export function claimFrameBytes(task: Task): number {
  const { input: _input, previous: _previous, callbacks: _callbacks, flow, ...rest } = task
  const { definition, ...standing } = flow ?? {}
  const names = definition?.steps.map(({ name }) => name) ?? []
  const kept = { ...rest, standing, names } as unknown as Json
  const parts = Object.keys(task.live).length + Object.keys(task.ended).length + names.length
  return FRAME_BYTES + PART_FRAME_BYTES * parts + MOST_MENTIONS * escapedBytes(kept)
}

/** Bytes of `input`, `params` and `previous` as JSON. The input contains the value that was handed on, or equals the parameters. */
function contentBytes(task: Task): number {
  const { input, previous, flow } = task
  const handedOn = previous ? handedOnBytes(previous) : 0
  if (!flow) return bodyBytes(input) + 2 * handedOn
  const results = Object.values(flow.steps).map(({ result }) => bodyBytes(result))
  const names = flow.definition.steps.reduce((bytes, { name }) => bytes + jsonBytes(name) + 2, 0)
  const params = results.reduce((sum, bytes) => sum + bytes, bodyBytes(input) + names)
  const own = actionOf(task)?.input
  return params + (own === undefined ? params : jsonBytes(own)) + handedOn
}

/** The bytes of the value that was handed on. The value of a part of a canvas is not known yet; `CLAIMED_LISTS_BYTES_MAX` bounds it. */
function handedOnBytes(previous: Previous): number {
  switch (previous.kind) {
    case 'body':
      return bodyBytes(previous.body)
    case 'result':
      return previous.bytes
    case 'node':
      return 0
  }
}
