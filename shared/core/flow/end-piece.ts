import { finished } from '../change/finished.ts'
import { attempts } from '../task/attempts.ts'
import { shortError } from '../task/body.ts'
import type { ActionRecord, FlowState, StepRecord } from '../task/flow-state.ts'
import { lastSuccess, pastDigest } from '../task/result.ts'
import type { EndedRun, Task, TaskError } from '../task/task.ts'
import { openStep, withoutSuccesses } from './open-piece.ts'

/** The draft of a task whose present piece has all the successes it needs: at its next step, or at its end. */
export function pieceSucceeded(task: Task, now: number): Task {
  const { flow } = task
  if (!flow) return finished(task, 'succeeded', now)
  return flow.direction === 'do' ? stepDone(task, flow, now) : stepUndone(task, flow, now)
}

/**
 * The draft of a task whose present piece cannot succeed any more: a flow undoes what has begun, beginning with the step
 * that failed; an undo that fails for good halts the undoing, and needs a person. `cutOff`: runs that a deadline ended,
 * which no budget counts.
 */
export function pieceFailed(task: Task, now: number, error?: TaskError, cutOff = 0): Task {
  const { flow } = task
  if (!flow) return finished(task, 'failed', now, error)
  const { at, direction } = flow
  const record = flow.steps[at] ?? NOT_BEGUN
  const ended = {
    ...record[direction],
    attempts: attempts(task).used + cutOff,
    endedAt: now,
    ...(error && { error: shortError(error) }),
  }
  if (direction === 'do') {
    return undoFrom(withStep(task, { ...record, state: 'failed', do: ended }), at, now, error)
  }
  const halted = withStep(task, { ...record, state: 'undo-failed', undo: ended })
  return flowEnded(halted, 'failed', now, failureOf(flow) ?? error)
}

/** The draft of a task that a person has cancelled: at its end, or where a flow undoes what it has begun. */
export function pieceCancelled(task: Task, now: number): Task {
  const { flow } = task
  if (!flow) return finished(task, 'cancelled', now)
  const stopped = stepInterrupted(task, flow, now)
  const next = flow.definition.onCancel === 'undo' ? nextToUndo(stopped.flow, flow.at) : undefined
  if (next === undefined) return flowEnded(stopped, 'cancelled', now)
  const undoing = openStep(stopped, next, 'undo', now)
  return undoing.flow ? { ...undoing, flow: { ...undoing.flow, cancelling: true } } : undoing
}

/** A step that had begun is over: it came to nothing. */
function stepInterrupted(task: Task, { steps, at }: FlowState, now: number): Task {
  const begun = steps[at]
  if (!begun) return task
  const over = { ...begun.do, attempts: attempts(task).used, endedAt: now, error: CANCELLED }
  return withStep(task, { ...begun, state: 'failed', do: over })
}

const CANCELLED: TaskError = { name: 'Cancelled', message: 'the flow was cancelled' }

/** A step that failed before anybody claimed it: the flow's deadline passed. */
const NOT_BEGUN: StepRecord = { state: 'failed', do: { attempts: 0 } }

/** How a direction of a step ended that has succeeded. */
function succeededAction(task: Task, begun: ActionRecord | undefined, now: number): ActionRecord {
  const fence = lastSuccess(task)?.fence
  return { ...begun, attempts: attempts(task).used, endedAt: now, ...(fence !== undefined && { fence }) }
}

function ranBy(success: EndedRun | undefined, begun: ActionRecord): Partial<ActionRecord> {
  if (!success) return {}
  const { workerId, startedAt } = success
  return { workerId, ...(startedAt !== begun.startedAt && { ranAt: startedAt }) }
}

/** No record shows what an undo has returned, but the same word said again is to be known. */
function returnedBy(success: EndedRun | undefined): Partial<ActionRecord> {
  const word = success && pastDigest(success)
  return word === undefined ? {} : { reportDigest: word }
}

function stepDone(task: Task, flow: FlowState, now: number): Task {
  const success = lastSuccess(task)
  const record = flow.steps[flow.at] ?? NOT_BEGUN
  const done = withStep(task, {
    ...record,
    state: 'succeeded',
    do: { ...succeededAction(task, record.do, now), ...ranBy(success, record.do) },
    ...(success?.result && { result: success.result }),
  })
  return openNext(done, flow.at, now)
}

/** The draft at the step after `at`, or at its end. */
export function openNext(task: Task, at: number, now: number): Task {
  const isLast = at === (task.flow?.definition.steps.length ?? 0) - 1
  return isLast ? flowEnded(task, 'succeeded', now) : openStep(task, at + 1, 'do', now)
}

function stepUndone(task: Task, flow: FlowState, now: number): Task {
  const record = flow.steps[flow.at] ?? NOT_BEGUN
  const undone = withStep(task, {
    ...record,
    state: 'undone',
    undo: { ...succeededAction(task, record.undo, now), ...returnedBy(lastSuccess(task)) },
  })
  return undoFrom(undone, flow.at - 1, now, failureOf(undone.flow))
}

/** The draft that undoes the last step up to `from` that began and can be undone; at its end when there is none. */
export function undoFrom(task: Task, from: number, now: number, error?: TaskError): Task {
  const next = nextToUndo(task.flow, from)
  if (next !== undefined) {
    return { ...openStep(task, next, 'undo', now), ...(error && { error: shortError(error) }) }
  }
  return task.flow?.cancelling ? flowEnded(task, 'cancelled', now) : flowEnded(task, 'failed', now, error)
}

/** Without the success that ended it: that stands with its step, as all others do, and the head keeps to 1 KB. */
function flowEnded(
  task: Task,
  state: 'succeeded' | 'failed' | 'cancelled',
  now: number,
  error?: TaskError,
): Task {
  return finished({ ...task, ended: withoutSuccesses(task) }, state, now, error)
}

/** Why a flow failed: what its failed step said. */
export function failureOf(flow: FlowState | undefined): TaskError | undefined {
  return flow?.steps[flow.cursor]?.do.error
}

/** The last step up to `from` that began, is not undone yet, and can be; steps without undo are passed over. */
function nextToUndo(flow: FlowState | undefined, from: number): number | undefined {
  for (let at = from; flow && at >= 0; at--) {
    const began = flow.steps[at]?.do.startedAt !== undefined
    const isLeft = flow.steps[at]?.undo?.endedAt === undefined
    if (began && isLeft && flow.definition.steps[at]?.undo) return at
  }
  return undefined
}

/** The draft with a new record of the present step. */
function withStep(task: Task, record: StepRecord): Task {
  const { flow } = task
  return flow ? { ...task, flow: { ...flow, steps: { ...flow.steps, [flow.at]: record } } } : task
}
