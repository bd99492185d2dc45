import { STAGE_CHANGES_MAX } from '../bounds.ts'
import { type BodyWrite, type Change, endRuns, refuse, revise, runRecord } from '../change.ts'
import { openStage, withFailedPiece, withSucceededPiece } from '../flow/pieces.ts'
import { limitValuesOf } from '../limits/limits.ts'
import { bodyExpiry, bodyOf, bodyRef } from '../task/head-fields.ts'
import { isSamePiece } from '../task/piece.ts'
import { type EndedRun, type LiveRun, successes, type Task } from '../task/task.ts'
import type { TaskError } from '../task-error/task-error.ts'
import { defined, type Json } from '../values/values.ts'
import { withRetryAt } from '../worker.ts'
import { retryDelayMs, withFailure } from './judge-budget.ts'
import { expire, isPastDeadline } from './lose.ts'
import { reportDigest as digestOfReport, fittedReport, isSameReport, wholeDigest } from './report.ts'
import type { Finish, NextStage, Outcome, OutcomeOf, RunGone } from './run.ts'
import { recordedEnd, whyGone } from './run.ts'
import { asCountedChange } from './several-successes.ts'

export type FinishDecision =
  /** Without `change` the report repeats the one that ended the run, and there is nothing to write. */
  { readonly ok: true; readonly change?: Change<Task> } | { readonly ok: false; readonly reason: RunGone }

/**
 * Ends a run by its worker's report. The report is accepted exactly when the run is stored as running under this birth and fence,
 * even after its lease has ended. If the task's deadline has passed, a failed or released run makes the task fail for good in the
 * same write. `chance` (0 to 1) feeds the jitter of a retry. With `mayCount` false, no success is written as a counted change (see
 * `several-successes.ts`): the revision guards each one.
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
    // Where the last success decides how the task goes on, the guard on the revision orders the successes.
    return mayCount && !next ? asCountedChange(change, draft.ended, run.fence) : change
  }
  if (!next || task.flow) return revise(task, withSucceededPiece(draft, now), now, { bodies }).change
  const moved = withNextStage(draft, next, now)
  return revise(task, moved.draft, now, { bodies: [...bodies, ...moved.bodies] }).change
}

type Drafted = { readonly draft: Task; readonly bodies: readonly BodyWrite[] }

/** The draft in the next stage, which the last success that the present stage needs has named. */
function withNextStage(task: Task, next: NextStage, now: number): Drafted {
  const { stage, input, priority, delayMs = 0 } = next
  const opened = openStage(task, { stage, dueAt: now + delayMs, ...defined({ priority }) }, now)
  const draft = { ...opened, stageChanges: (task.stageChanges ?? 0) + 1 }
  return input === undefined ? { draft, bodies: [] } : withInput(draft, input, now)
}

/**
 * Whether the task changes its stage too often. Only moves that follow each other faster than one a second add up. So a task that
 * waits between its stages may go on for years.
 */
function movesTooOften({ flow, stageChanges = 0, startedAt }: Task, now: number): boolean {
  const seconds = Math.max(0, now - (startedAt ?? now)) / 1_000
  return !flow && stageChanges >= STAGE_CHANGES_MAX + seconds
}

function stageLoop({ stageChanges = 0 }: Task): TaskError {
  const message = `moved on to another stage ${stageChanges.toLocaleString('en')} times, which is more than ${STAGE_CHANGES_MAX.toLocaleString('en')} plus one for each second since its first run. Wait between stages with delayMs, or end the task; restart it to count anew`
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
