import { STAGE_CHANGES_MAX } from '../bounds.ts'
import { type BodyWrite, type Change, endRuns, refuse, revise, runRecord } from '../change.ts'
import { openStage, withFailedPiece, withSucceededPiece } from '../flow/pieces.ts'
import { limitValuesOf } from '../limits/limits.ts'
import { isRunningPlace, sweptFrom } from '../place/place.ts'
import { bodyExpiry, bodyOf, bodyRef } from '../task/head-fields.ts'
import { isSamePiece, lastSuccess } from '../task/piece.ts'
import { type EndedRun, type LiveRun, liveRuns, successes, type Task, workersWanted } from '../task/task.ts'
import type { TaskError } from '../task-error/task-error.ts'
import { defined, type Json } from '../values/values.ts'
import { withRetryAt } from '../worker.ts'
import { retryDelayMs } from './backoff.ts'
import { withFailure } from './judge-budget.ts'
import { expire, isPastDeadline } from './lease.ts'
import { reportDigest as digestOfReport, fittedReport, isSameReport, wholeDigest } from './report.ts'
import type { Finish, NextStage, Outcome, OutcomeOf, RunGone } from './run.ts'
import { recordedEnd, whyGone } from './run.ts'

export type FinishDecision =
  /** Without `change` the report repeats the one that ended the run, and there is nothing to write. */
  { readonly ok: true; readonly change?: Change<Task> } | { readonly ok: false; readonly reason: RunGone }

/**
 * Ends a run by its worker's report. The report is accepted exactly when the run is stored as running under this birth and fence,
 * even after its lease has ended. If the task's deadline has passed, a failed or released run makes the task fail for good in the
 * same write. `chance` (0 to 1) feeds the jitter of a retry. With `mayCount` false, no success is written as a counted change (see
 * the end of this file): the revision guards each one.
 */
export function finish(
  task: Task | undefined,
  report: Finish,
  now: number,
  chance: number,
  { mayCount = true }: { readonly mayCount?: boolean } = {},
): FinishDecision {
  const run = task?.born === report.born ? task.live[report.fence] : undefined
  if (task && run) {
    const change = changeByReport(task, run, fittedReport(report), now, { chance, mayCount })
    return { ok: true, change: withDeadlineJudged(task, change, now) }
  }
  return isRepeat(task, report) ? { ok: true } : refuse(whyGone(task, report))
}

/** The change that the report makes, before the task's deadline is judged. */
function changeByReport(
  task: Task,
  run: LiveRun,
  report: Outcome,
  now: number,
  { chance, mayCount }: { readonly chance: number; readonly mayCount: boolean },
): Change<Task> {
  switch (report.outcome) {
    case 'succeed':
      if (report.next && movesTooOften(task, now)) {
        const failure = {
          error: stageLoop(task),
          fatal: true,
          ...defined({ reportDigest: wholeDigest(report) }),
        }
        return failRun(task, run, failure, now, chance)
      }
      return succeed(task, run, report, now, mayCount)
    case 'fail':
      return failRun(task, run, { ...report, ...digestOf(report) }, now, chance)
    case 'release':
      return release(task, run, report, now)
  }
}

/**
 * The change, or the end of the task when its deadline has passed. A success does not end the task here: a look at the deadline
 * does. A task that fails here keeps the due time that it had during the run, because it will not run again.
 */
function withDeadlineJudged({ dueAt }: Task, change: Change<Task>, now: number): Change<Task> {
  const { after, bodies } = change
  if (after.operation === 'succeed' || !isPastDeadline(after, now)) return change
  const expired = expire({ ...after, dueAt }, now)
  return {
    ...change,
    after: { ...expired.after, revision: after.revision },
    bodies: [...bodies, ...expired.bodies],
  }
}

function succeed(
  task: Task,
  run: LiveRun,
  report: OutcomeOf<'succeed'>,
  now: number,
  mayCount: boolean,
): Change<Task> {
  const { result: value, next } = report
  const expiry = bodyExpiry(task.dueAt, now, task.options.retentionMs)
  const stored =
    value === undefined ? undefined : bodyOf(value, bodyRef.result(task.born, run.fence, value), expiry)
  const ending = { state: 'succeeded' as const, ...defined({ result: stored?.body }), ...digestOf(report) }
  const draft: Task = { ...task, ...endRuns(task, [run], ending, now), operation: 'succeed' }
  const bodies: BodyWrite[] = stored?.writes ?? []
  if (successes(draft).length < task.options.concurrency) {
    const { change } = revise(task, draft, now, { bodies })
    // If the last success decides how the task continues, the guard on the revision orders the successes.
    return mayCount && !next ? asCountedChange(change, draft.ended, run.fence) : change
  }
  if (!next || task.flow) return revise(task, withSucceededPiece(draft, now), now, { bodies }).change
  const moved = withNextStage(draft, next, now)
  return revise(task, moved.draft, now, { bodies: [...bodies, ...moved.bodies] }).change
}

type Drafted = { readonly draft: Task; readonly bodies: readonly BodyWrite[] }

/** Moves the draft to the stage that the last success of the present stage has named. */
function withNextStage(task: Task, next: NextStage, now: number): Drafted {
  const { stage, input, priority, delayMs = 0 } = next
  const opened = openStage(task, { stage, dueAt: now + delayMs, ...defined({ priority }) }, now)
  const draft = { ...opened, stageChanges: (task.stageChanges ?? 0) + 1 }
  return input === undefined ? { draft, bodies: [] } : withInput(draft, input, now)
}

/**
 * Whether the task changes its stage too often. Only moves that follow each other faster than one a second are counted. So a task that
 * waits between its stages may continue for years.
 */
function movesTooOften({ flow, stageChanges = 0, startedAt }: Task, now: number): boolean {
  const seconds = Math.max(0, now - (startedAt ?? now)) / 1_000
  return !flow && stageChanges >= STAGE_CHANGES_MAX + seconds
}

function stageLoop({ stageChanges = 0 }: Task): TaskError {
  const message = `moved on to another stage ${stageChanges.toLocaleString('en')} times, which is more than ${STAGE_CHANGES_MAX.toLocaleString('en')} plus one for each second since its first run. Wait between stages with delayMs, or end the task; restart it to count again`
  return { name: 'StageLoop', message }
}

/** How a run has failed: what its record keeps, and what the report says about the retry. */
type Failure = Omit<OutcomeOf<'fail'>, 'outcome'> & Partial<Pick<EndedRun, 'cause' | 'reportDigest'>>

/** The change in which `run` has failed. The failure is counted, and a retry follows if the budget allows it. */
export function failRun(
  task: Task,
  run: LiveRun,
  failure: Failure,
  now: number,
  chance: number,
): Change<Task> {
  const { error, fatal, retryInMs, log, cause, reportDigest } = failure
  const ending = { state: 'failed' as const, error, ...defined({ log, cause, reportDigest }) }
  const bodies = [runRecord(task, run, ending, now)]
  const failed: Task = { ...task, ...endRuns(task, [run], ending, now), operation: 'fail' }
  const draft = withFailure(failed, run.workerId, error, now)
  if (draft.state !== 'open' || !isSamePiece(task, draft)) return revise(task, draft, now, { bodies }).change
  if (fatal) return revise(task, withFailedPiece(draft, now, error), now, { bodies }).change
  const delayMs = retryInMs ?? retryDelayMs(draft, run.workerId, chance)
  return revise(task, withRetryAt(draft, run.workerId, now + delayMs), now, { bodies }).change
}

/** The change by which the worker gives the task back. The run has not failed, so it uses up no retry. */
function release(task: Task, run: LiveRun, report: OutcomeOf<'release'>, now: number): Change<Task> {
  const { delayMs = 0 } = report
  const ending = { state: 'released' as const, ...digestOf(report) }
  const runs = endRuns(task, [run], ending, now)
  const bodies = [runRecord(task, run, ending, now)]
  const delayed = delayMs > 0 && { dueAt: now + delayMs, retrying: false }
  return revise(task, { ...task, ...runs, ...delayed, operation: 'release' }, now, { bodies }).change
}

function digestOf(report: Outcome): Pick<EndedRun, 'reportDigest'> {
  return defined({ reportDigest: digestOfReport(report) })
}

/** Whether the report repeats the one that ended the run. A worker repeats a report when the answer was lost. */
function isRepeat(task: Task | undefined, report: Finish): boolean {
  const end = task?.born === report.born ? recordedEnd(task, report.fence) : undefined
  return end !== undefined && isSameReport(end, report)
}

/**
 * The draft with another input, and the item that must be written first when the input is large. The values by which limits count
 * the task come from the new input.
 */
export function withInput(draft: Task, input: Json, now: number): Drafted {
  const { limitValues = {}, ...rest } = draft
  const expiry = bodyExpiry(draft.dueAt, now, draft.options.retentionMs)
  const { body, writes } = bodyOf(input, bodyRef.input(draft.born, draft.revision + 1, input), expiry)
  const given = { ...rest, input: body }
  return { draft: { ...given, ...limitValuesOf(given, input, Object.keys(limitValues)) }, bodies: writes }
}

/**
 * A task may need the success of up to 100 different workers, and all of them may report at one moment. If the revision guarded
 * these writes, all but one would fail, and each failed write costs the units of the whole head.
 *
 * So a success that is not the last one needed is written as a *counted* change. Its guard is the birth and the run, which must be
 * stored as running. It moves that run from `live` to `ended`, sets the operation and the time of the last change, and adds one to the
 * stored revision. It changes no other path, so such writes never conflict with each other. All other writers still see that the task has
 * changed, because the revision has grown.
 *
 * The writer gets the whole head back. When the head has all successes that the task needs, it is *complete*: the task is open, and
 * only its end is missing. `endOfComplete` is that end, a second write that is guarded by the revision. The same write follows from
 * the same head, so any process may make it:
 *
 * - the worker whose success completed the head writes it at once
 * - a process that is about to change a complete head writes the end first, and then decides on the result
 * - the planner sees the complete head in the stream and sends a look, in case the worker died before it wrote the end
 * - the sweeper finds the head among the open ones when that look was lost
 *
 * Nothing can be lost between the two writes. The successes are stored, and no further worker can claim. A deadline that passes
 * between them cannot fail the task: the process that finds the deadline passed writes the end first, like every other writer.
 *
 * The revision still guards three kinds of successes:
 *
 * - A success that completes the head as its worker read it. It then needs one write, not two. Every success of a task that needs
 *   only one is of this kind.
 * - A success that names the next stage. The last success decides on the stage, so the order of the writes must be the order of the
 *   decisions.
 * - A success that also moves the task in an index, drops a retry that is due, or ends its wait for a limit. It changes more than its
 *   run.
 */

/** Whether the task has all successes that it needs, and only its end is not written yet. */
export function isComplete(task: Task): boolean {
  return task.state === 'open' && successes(task).length >= task.options.concurrency
}

/** The end of a complete task, or the next step of its flow. It follows from the head alone: its time is the time of the last success. */
export function endOfComplete(task: Task): Change<Task> | undefined {
  const last = isComplete(task) ? lastSuccess(task) : undefined
  if (!last) return undefined
  const now = last.endedAt
  return revise(task, withSucceededPiece({ ...task, operation: 'succeed' }, now), now).change
}

/**
 * Whether the indexes still show the task as running, though a counted change ended its last run and it now waits for another
 * worker. The next transition moves it.
 */
export function isIndexedAsRunning(task: Task): boolean {
  const isIdle = task.state === 'open' && liveRuns(task).length === 0 && workersWanted(task) > 0
  if (!isIdle || task.wait) return false
  const { place, view = { sort: task.dueAt } } = task
  return view.sort < sweptFrom(task) || (place !== undefined && isRunningPlace(place))
}

/**
 * The success of one run as a counted change, if it changes nothing but that run. Otherwise the change stays guarded by the revision.
 * `ended` is the ended runs with this success, before any old run is dropped: a counted change may add its run and remove none.
 */
function asCountedChange(change: Change<Task>, ended: Task['ended'], fence: number): Change<Task> {
  const { before, after } = change
  if (!before || before.wait || entriesOf(before) !== entriesOf(after)) return change
  return {
    ...change,
    after: { ...after, ended },
    guard: { kind: 'counted', born: before.born, fence },
  }
}

function entriesOf({ view, place, retryAtBy }: Task): string {
  return JSON.stringify([view, place, retryAtBy])
}
