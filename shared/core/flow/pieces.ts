import { endRuns, withEnd } from '../change.ts'
import type { ActionRecord, Direction, FlowDefinition, FlowState, StepRecord } from '../task/flow-state.ts'
import { attempts, lastSuccess, pastDigest } from '../task/piece.ts'
import { type EndedRun, isSuccess, liveRuns, successes, type Task } from '../task/task.ts'
import { shortError, type TaskError } from '../task-error/task-error.ts'
import { membersWhere } from '../values/values.ts'

/** The draft of a task whose present piece has all its successes: the task is at its next step, or at its end. */
export function withSucceededPiece(task: Task, now: number): Task {
  const { flow } = task
  if (!flow) return withEnd(task, 'succeeded', now)
  return flow.direction === 'do' ? withSucceededStep(task, flow, now) : withUndoneStep(task, flow, now)
}

/**
 * The draft of a task whose present piece cannot succeed any more. A flow then undoes the steps that have begun, from the failed
 * step backwards. After an undo that fails for good, no further step is undone, and the flow needs an operator. `cutOff` is the
 * number of runs that a deadline ended. They count as attempts of the step, but no budget counts them.
 */
export function withFailedPiece(task: Task, now: number, error?: TaskError, cutOff = 0): Task {
  const { flow } = task
  if (!flow) return withEnd(task, 'failed', now, error)
  const { presentStep: at, direction } = flow
  const record = flow.steps[at] ?? NOT_BEGUN
  const ended = {
    ...record[direction],
    attempts: attempts(task).used + cutOff,
    endedAt: now,
    ...(error && { error: shortError(error) }),
  }
  if (direction === 'do') {
    return withNextUndo(withStepRecord(task, { ...record, state: 'failed', do: ended }), at, now, error)
  }
  const halted = withStepRecord(task, { ...record, state: 'undo-failed', undo: ended })
  return withEndedFlow(halted, 'failed', now, failedStepError(flow) ?? error)
}

/** The draft of a cancelled task: ended, or at the first step that a flow undoes. */
export function withCancelledPiece(task: Task, now: number): Task {
  const { flow } = task
  if (!flow) return withEnd(task, 'cancelled', now)
  const stopped = withInterruptedStep(task, flow, now)
  const next = flow.definition.onCancel === 'undo' ? nextToUndo(stopped.flow, flow.presentStep) : undefined
  if (next === undefined) return withEndedFlow(stopped, 'cancelled', now)
  const undoing = openStep(stopped, next, 'undo', now)
  return undoing.flow ? { ...undoing, flow: { ...undoing.flow, cancelling: true } } : undoing
}

/** The draft in which the present step, if it has begun, has failed because of the cancellation. */
function withInterruptedStep(task: Task, { steps, presentStep: at }: FlowState, now: number): Task {
  const begun = steps[at]
  if (!begun) return task
  const over = { ...begun.do, attempts: attempts(task).used, endedAt: now, error: CANCELLED }
  return withStepRecord(task, { ...begun, state: 'failed', do: over })
}

const CANCELLED: TaskError = { name: 'Cancelled', message: 'the flow was cancelled' }

/** The record of a step that failed before any claim, because the flow's deadline had passed. */
const NOT_BEGUN: StepRecord = { state: 'failed', do: { attempts: 0 } }

/** The record of a `do` or `undo` that has succeeded. */
function succeededAction(task: Task, begun: ActionRecord | undefined, now: number): ActionRecord {
  const fence = lastSuccess(task)?.fence
  return { ...begun, attempts: attempts(task).used, endedAt: now, ...(fence !== undefined && { fence }) }
}

/** The worker of the run that succeeded, and the run's start if an earlier run began the step. */
function runOfSuccess(success: EndedRun | undefined, begun: ActionRecord): Partial<ActionRecord> {
  if (!success) return {}
  const { workerId, startedAt } = success
  return { workerId, ...(startedAt !== begun.startedAt && { ranAt: startedAt }) }
}

/** The digest of an undo's report, by which a repeated report is recognised. No record keeps the result of an undo. */
function undoReport(success: EndedRun | undefined): Partial<ActionRecord> {
  const reportDigest = success && pastDigest(success)
  return reportDigest === undefined ? {} : { reportDigest }
}

function withSucceededStep(task: Task, flow: FlowState, now: number): Task {
  const success = lastSuccess(task)
  const record = flow.steps[flow.presentStep] ?? NOT_BEGUN
  const done = withStepRecord(task, {
    ...record,
    state: 'succeeded',
    do: { ...succeededAction(task, record.do, now), ...runOfSuccess(success, record.do) },
    ...(success?.result && { result: success.result }),
  })
  return withNextStep(done, flow.presentStep, now)
}

/** The draft at the step after `at`. After the last step, the draft of the ended flow. */
export function withNextStep(task: Task, at: number, now: number): Task {
  const isLast = at === (task.flow?.definition.steps.length ?? 0) - 1
  return isLast ? withEndedFlow(task, 'succeeded', now) : openStep(task, at + 1, 'do', now)
}

function withUndoneStep(task: Task, flow: FlowState, now: number): Task {
  const record = flow.steps[flow.presentStep] ?? NOT_BEGUN
  const undone = withStepRecord(task, {
    ...record,
    state: 'undone',
    undo: { ...succeededAction(task, record.undo, now), ...undoReport(lastSuccess(task)) },
  })
  return withNextUndo(undone, flow.presentStep - 1, now, failedStepError(undone.flow))
}

/**
 * The draft that undoes the next step: the last one, up to `from`, that has begun and can still be undone. Without such a step the
 * draft of the ended flow.
 */
export function withNextUndo(task: Task, from: number, now: number, error?: TaskError): Task {
  const next = nextToUndo(task.flow, from)
  if (next !== undefined) {
    return { ...openStep(task, next, 'undo', now), ...(error && { error: shortError(error) }) }
  }
  return task.flow?.cancelling
    ? withEndedFlow(task, 'cancelled', now)
    : withEndedFlow(task, 'failed', now, error)
}

/**
 * The draft of an ended flow. It drops the success that ended the flow, since its step's record keeps it, so the head stays within 1 KB.
 */
function withEndedFlow(
  task: Task,
  state: 'succeeded' | 'failed' | 'cancelled',
  now: number,
  error?: TaskError,
): Task {
  return withEnd({ ...task, ended: withoutSuccesses(task) }, state, now, error)
}

/** The error of a flow's failed step, which is why the flow failed. */
export function failedStepError(flow: FlowState | undefined): TaskError | undefined {
  return flow?.steps[flow.reachedStep]?.do.error
}

/** The index of the last step, up to `from`, that has begun, has an undo, and whose undo has not ended. */
function nextToUndo(flow: FlowState | undefined, from: number): number | undefined {
  for (let at = from; flow && at >= 0; at--) {
    const began = flow.steps[at]?.do.startedAt !== undefined
    const isNotUndone = flow.steps[at]?.undo?.endedAt === undefined
    if (began && isNotUndone && flow.definition.steps[at]?.undo) return at
  }
  return undefined
}

/** The draft with this record as the record of the present step. */
function withStepRecord(task: Task, record: StepRecord): Task {
  const { flow } = task
  return flow ? { ...task, flow: { ...flow, steps: { ...flow.steps, [flow.presentStep]: record } } } : task
}

/** The draft of a new flow, at its first step. The deadline and the retention of the publish hold for the flow as a whole. */
export function startFlow(task: Task, definition: FlowDefinition): Task {
  const { deadlineMs } = task.options
  const flow: FlowState = {
    definition,
    reachedStep: 0,
    presentStep: 0,
    direction: 'do',
    steps: {},
    ...(deadlineMs !== undefined && { deadlineMs, deadlineAt: task.dueAt + deadlineMs }),
  }
  return withPiece(task, flow)
}

/**
 * The draft at another step or direction, with no successes or failures and a fresh budget. Live runs end cancelled. An undo does
 * not wait for the retry of the piece before it.
 */
export function openStep(task: Task, at: number, direction: Direction, now: number): Task {
  const { flow } = task
  if (!flow) throw new RangeError(`${task.id} is not a flow and has no step ${at}`)
  const reachedStep = direction === 'do' ? at : flow.reachedStep
  const dueAt = direction === 'undo' ? Math.min(task.dueAt, now) : task.dueAt
  return withPiece(
    { ...withClosedPiece(task, now), dueAt },
    { ...flow, presentStep: at, direction, reachedStep },
  )
}

/** The fields with which a stage begins. Without `priority` the task keeps its own. */
type StageOpening = {
  readonly stage: string
  readonly dueAt: number
  readonly priority?: number
}

/** The draft in another stage, with no successes or failures and a fresh budget. Live runs end cancelled. */
export function openStage(task: Task, { stage, dueAt, priority }: StageOpening, now: number): Task {
  return {
    ...withClosedPiece(task, now),
    stage,
    dueAt,
    retrying: false,
    ...(priority !== undefined && { priority }),
  }
}

/** The draft in which the present step has begun. The first claim of a step begins it, and starts the step's deadline. */
export function beginPiece(task: Task, now: number): Task {
  const { flow } = task
  if (!flow) return task
  const { presentStep: at, direction } = flow
  const record = flow.steps[at]
  if (record?.[direction]?.startedAt !== undefined) return task
  const begun = { attempts: 0, startedAt: now }
  const steps = {
    ...flow.steps,
    [at]:
      direction === 'do' || !record
        ? { state: 'running' as const, do: begun }
        : { ...record, state: 'undoing' as const, undo: begun },
  }
  return withDeadline({ ...task, flow: { ...flow, steps } })
}

/** The draft of a task whose present piece is over. None of its runs, failures and errors counts for the next piece. */
function withClosedPiece(task: Task, now: number): Task {
  const { error: _error, ...rest } = task
  const runs = endRuns(task, liveRuns(task), { state: 'cancelled' }, now)
  const draft: Task = { ...rest, ...runs, retrying: false, failures: 0, failuresBy: {}, retryAtBy: {} }
  return { ...draft, ended: task.flow ? withoutSuccesses(draft) : withPastSuccesses(draft) }
}

/** The ended runs of a flow without its successes, which the records of its steps keep. */
function withoutSuccesses(task: Task): Task['ended'] {
  return membersWhere(task.ended, run => !isSuccess(run))
}

/** The ended runs with all successes marked as past. They stay on record and no longer count. */
export function withPastSuccesses(task: Task): Task['ended'] {
  const past = successes(task).map(success => {
    const { result: _result, reportDigest: _reportDigest, ...run } = success
    const reportDigest = pastDigest(success)
    return [run.fence, { ...run, past: true as const, ...(reportDigest !== undefined && { reportDigest }) }]
  })
  return { ...task.ended, ...Object.fromEntries(past) }
}

/** The draft with the options of the flow's present piece. Only the retention is the flow's own. */
function withPiece(task: Task, flow: FlowState): Task {
  const action = flow.definition.steps[flow.presentStep]?.[flow.direction]
  if (!action) throw new RangeError(`${task.id} has nothing to ${flow.direction} at step ${flow.presentStep}`)
  const { retentionMs } = task.options
  return withDeadline({ ...task, flow, options: { ...action.options, retentionMs } })
}

/**
 * The draft with the earlier of two deadlines: the deadline of the step, from its first claim, and, while steps are done, the deadline of
 * the flow.
 */
export function withDeadline(task: Task): Task {
  const { flow, options } = task
  if (!flow) return task
  const { deadlineAt: _former, ...rest } = task
  const startedAt = flow.steps[flow.presentStep]?.[flow.direction]?.startedAt
  const ofStep = startedAt === undefined ? undefined : startedAt + (options.deadlineMs ?? Number.NaN)
  const ofFlow = flow.direction === 'do' ? flow.deadlineAt : undefined
  const deadlines = [ofStep, ofFlow].filter(time => time !== undefined && !Number.isNaN(time)) as number[]
  return deadlines.length > 0 ? { ...rest, deadlineAt: Math.min(...deadlines) } : rest
}
