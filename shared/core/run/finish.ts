import { STAGE_CHANGES_MAX } from '../bounds.ts'
import { type Change, refuse, revise } from '../change/change.ts'
import { endRuns, runRecord } from '../change/end-runs.ts'
import { pieceFailed, pieceSucceeded } from '../flow/end-piece.ts'
import { openStage } from '../flow/open-piece.ts'
import type { Json } from '../json.ts'
import { type BodyWrite, bodyExpiry, bodyOf, bodyRef } from '../task/body.ts'
import { isSamePiece } from '../task/piece.ts'
import { type LiveRun, successes, type Task, type TaskError } from '../task/task.ts'
import { fitError } from '../task-error/fit-error.ts'
import { expire, isPastDeadline } from './deadline.ts'
import { withInput } from './input.ts'
import { failureCounted, retryDelayMs } from './judge-budget.ts'
import { isSameReport, reportDigest, wholeDigest } from './report.ts'
import { type RunGone, recordedEnd, whyGone } from './run.ts'
import { asCountedChange } from './several-successes.ts'

/** The run that speaks: its birth and fence, and what it says. */
export type Finish = { readonly born: string; readonly fence: number } & Outcome

export type Outcome =
  /** `next` moves the task to another stage instead of finishing it. */
  | { readonly outcome: 'succeed'; readonly result?: Json; readonly next?: NextStage }
  | {
      readonly outcome: 'fail'
      readonly error: TaskError
      readonly fatal?: boolean
      readonly retryInMs?: number
      /** The last that its handler logged, at most `RUN_LOG_BYTES_MAX`. */
      readonly log?: string
    }
  | { readonly outcome: 'release'; readonly delayMs?: number }

/** The stage a task goes on with; what is not given stays as it is, and it is due at once. */
export type NextStage = {
  readonly stage: string
  readonly input?: Json
  readonly priority?: number
  readonly delayMs?: number
}

export type FinishDecision =
  | { readonly ok: true; readonly change: Change }
  /** The very same word again: nothing to write, and all is well. */
  | { readonly ok: true; readonly change?: undefined }
  | { readonly ok: false; readonly reason: RunGone }

/**
 * Ends a run by its worker's word. Accepted exactly when the run is stored as running under this birth and fence; the
 * clock has no say. What is still open past its deadline then fails for good in the same write. `chance` (0 to 1)
 * feeds the jitter of a retry. With `mayCount` false, a success among several is guarded by the revision as all else.
 */
export function finish(
  task: Task | undefined,
  word: Finish,
  now: number,
  chance: number,
  { mayCount = true }: { readonly mayCount?: boolean } = {},
): FinishDecision {
  const run = task?.born === word.born ? task.live[word.fence] : undefined
  if (task && run) {
    const change = ending(task, run, word, now, { chance, mayCount })
    return { ok: true, change: thenExpired(task, change, now) }
  }
  return isRepeat(task, word) ? { ok: true } : refuse(whyGone(task, word))
}

function ending(
  task: Task,
  run: LiveRun,
  word: Outcome,
  now: number,
  { chance, mayCount }: { readonly chance: number; readonly mayCount: boolean },
): Change {
  switch (word.outcome) {
    case 'succeed':
      if (word.next && movesTooOften(task, now)) {
        const failure = { outcome: 'fail', error: stageLoop(task), fatal: true } as const
        return fail(task, run, failure, now, chance, wholeDigest(word))
      }
      return succeed(task, run, word, now, mayCount)
    case 'fail':
      return fail(task, run, word, now, chance)
    case 'release':
      return release(task, run, word, now)
  }
}

/**
 * A success among several that are asked for leaves the task to its other workers. What has failed for good is not due
 * again: it keeps the due time that the run began with.
 */
function thenExpired({ dueAt }: Task, change: Change, now: number): Change {
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
  said: Extract<Outcome, { outcome: 'succeed' }>,
  now: number,
  mayCount: boolean,
): Change {
  const { result: value, next } = said
  const expiry = bodyExpiry(task.dueAt, now, task.options.retentionMs)
  const stored =
    value === undefined ? undefined : bodyOf(value, bodyRef.result(task.born, run.fence, value), expiry)
  const ending = { state: 'succeeded' as const, ...(stored && { result: stored.body }), ...reportOf(said) }
  const draft: Task = { ...task, ...endRuns(task, [String(run.fence)], ending, now), operation: 'succeed' }
  const bodies: BodyWrite[] = stored?.writes ?? []
  if (successes(draft).length < task.options.concurrency) {
    const { change } = revise(task, draft, now, { bodies })
    // Where the last success decides how the task goes on, all of them keep one order.
    return mayCount && !next ? asCountedChange(change, draft, run.fence) : change
  }
  if (!next || task.flow) return revise(task, pieceSucceeded(draft, now), now, { bodies }).change
  const moved = movedOn(draft, next, now)
  return revise(task, moved.draft, now, { bodies: [...bodies, ...moved.bodies] }).change
}

/** The last of the successes that were asked for decides whether the task goes on, and with what. */
function movedOn(task: Task, next: NextStage, now: number): { draft: Task; bodies: readonly BodyWrite[] } {
  const { stage, input, priority, delayMs = 0 } = next
  const dueAt = now + delayMs
  const opened = openStage(task, { stage, dueAt, ...(priority !== undefined && { priority }) }, now)
  const draft = { ...opened, stageChanges: (task.stageChanges ?? 0) + 1 }
  return input === undefined ? { draft, bodies: [] } : withInput(draft, input, now)
}

/** What waits between its stages may go on for years: only moves that come faster than one a second add up. */
function movesTooOften({ flow, stageChanges = 0, startedAt }: Task, now: number): boolean {
  const seconds = Math.max(0, now - (startedAt ?? now)) / 1_000
  return !flow && stageChanges >= STAGE_CHANGES_MAX + seconds
}

function stageLoop({ stageChanges = 0 }: Task): TaskError {
  const message = `moved on to another stage ${stageChanges.toLocaleString('en')} times, which is more than ${STAGE_CHANGES_MAX.toLocaleString('en')} plus one for each second since its first run. Wait between stages with delayMs, or end the task; restart it to count anew`
  return { name: 'StageLoop', message }
}

function fail(
  task: Task,
  run: LiveRun,
  word: Extract<Outcome, { outcome: 'fail' }>,
  now: number,
  chance: number,
  digest = reportDigest(word),
): Change {
  const { log } = word
  const error = fitError(word.error)
  const ending = { error, ...(digest !== undefined && { word: digest }) }
  const draft = failed(task, run, ending, now)
  const record = { state: 'failed' as const, ...ending, ...(log !== undefined && { log }) }
  const bodies = runRecord(task, run.fence, record, now)
  if (draft.state !== 'open' || !isSamePiece(task, draft)) return revise(task, draft, now, { bodies }).change
  if (word.fatal) return revise(task, pieceFailed(draft, now, error), now, { bodies }).change
  const delayMs = word.retryInMs ?? retryDelayMs(draft, run.workerId, chance)
  return revise(task, { ...draft, dueAt: now + delayMs, retrying: true }, now, { bodies }).change
}

/** The draft in which `run` has failed and the failure is counted. */
export function failed(
  task: Task,
  run: LiveRun,
  more: { error: TaskError; cause?: 'timed-out'; word?: string },
  now: number,
): Task {
  const runs = endRuns(task, [String(run.fence)], { state: 'failed', ...more }, now)
  return failureCounted({ ...task, ...runs, operation: 'fail' }, run.workerId, more.error, now)
}

/** Given back unharmed: no retry is counted. */
function release(
  task: Task,
  run: LiveRun,
  word: Extract<Outcome, { outcome: 'release' }>,
  now: number,
): Change {
  const { delayMs = 0 } = word
  const ending = { state: 'released' as const, ...reportOf(word) }
  const runs = endRuns(task, [String(run.fence)], ending, now)
  const bodies = runRecord(task, run.fence, ending, now)
  const dueAt = delayMs > 0 ? now + delayMs : task.dueAt
  return revise(task, { ...task, ...runs, dueAt, operation: 'release' }, now, { bodies }).change
}

function reportOf(word: Outcome): { readonly word?: string } {
  const digest = reportDigest(word)
  return digest === undefined ? {} : { word: digest }
}

/** A finish whose answer was lost comes again. The run's end is on record; only the very same word agrees with it. */
function isRepeat(task: Task | undefined, word: Finish): boolean {
  const end = task?.born === word.born ? recordedEnd(task, word.fence) : undefined
  return end !== undefined && isSameReport(end, word)
}
