import { type Decision, refuse, revise } from '../change.ts'
import type { FlowState, StepRecord } from '../task/flow-state.ts'
import { afterFirstEnd } from '../task/head-fields.ts'
import type { Task } from '../task/task.ts'
import { eachMember, membersWhere } from '../values/values.ts'
import { failedStepError, openStep, withNextStep, withNextUndo } from './pieces.ts'

/** The ways in which an operator may resume a failed flow; see `resume`. */
export type ResumeAction = 'retry-do' | 'retry-undo' | 'skip-undo' | 'continue'

/**
 * Why a flow is not resumed.
 *
 * - `undone`          a step before the failed one is undone, or an operator has skipped its undo
 * - `no-failed-undo`  no undo has failed that could be retried or skipped
 * - `owes`            the callbacks of the flow's end are not published yet, and a resumption would lose them
 */
export type ResumeRefusal = 'not-a-flow' | 'not-failed' | 'undone' | 'no-failed-undo' | 'owes'

/**
 * Resumes a failed flow with a fresh budget under the same birth, so a retried `do` or `undo` is the same piece of work.
 *
 * - `retry-do` does the failed step again; `continue` counts it as done by the operator. Both are refused when a step before it is
 *   undone. A step whose undo has failed then counts as done.
 * - `retry-undo` tries the failed undo again; `skip-undo` counts it as done by the operator.
 */
export function resume(task: Task, action: ResumeAction, now: number): Decision<ResumeRefusal> {
  const { flow } = task
  if (!flow) return refuse('not-a-flow')
  if (task.state !== 'failed') return refuse('not-failed')
  if (task.owes) return refuse('owes')
  const draft = withReopenedFlow(task, flow, now)
  switch (action) {
    case 'retry-do':
    case 'continue': {
      if (undoneBefore(flow).length > 0) return refuse('undone')
      const reopened = action === 'continue' ? withDoneByOperator : withDoRetried
      return revise(task, reopened(draft, flow, now), now)
    }
    case 'retry-undo':
    case 'skip-undo': {
      const at = failedUndo(flow)
      if (at === undefined) return refuse('no-failed-undo')
      const reopened = action === 'retry-undo' ? withUndoRetried : withUndoSkipped
      return revise(task, reopened(draft, at, now), now)
    }
  }
}

/**
 * What a retry does that names no action. A failed flow continues where it has failed; a plain task starts over. Undefined for a flow that
 * has ended in another way: a restart does its steps again, which a caller must ask for by name.
 */
export function usualRetry({ flow, state }: Task): ResumeAction | 'restart' | undefined {
  if (!flow || state === 'open') return 'restart'
  if (state !== 'failed') return undefined
  return failedUndo(flow) === undefined ? 'retry-do' : 'retry-undo'
}

/** The index of the step whose undo has failed for good. */
function failedUndo({ steps }: FlowState): number | undefined {
  const found = Object.entries(steps).find(([, { state }]) => state === 'undo-failed')
  return found && Number(found[0])
}

/** The names of the steps before the failed one that are undone, or whose undo an operator has skipped. */
export function undoneBefore({ definition, steps, reachedStep }: FlowState): string[] {
  return definition.steps.slice(0, reachedStep).flatMap(({ name }, at) => (isUndone(steps[at]) ? [name] : []))
}

function isUndone(record: StepRecord | undefined): boolean {
  return record?.state === 'undone' || record?.state === 'skipped'
}

/** The draft of a reopened flow. It is due at once, and its deadline begins again. */
function withReopenedFlow(task: Task, flow: FlowState, now: number): Task {
  const { finishedAt: _finishedAt, expiresAt: _expiresAt, error: _error, ...rest } = task
  const { deadlineMs } = flow
  const deadline = deadlineMs === undefined ? {} : { deadlineAt: now + deadlineMs }
  return {
    ...rest,
    state: 'open',
    operation: 'resume',
    dueAt: now,
    flow: { ...flow, ...deadline },
    ...(task.member && { member: afterFirstEnd(task.member, task) }),
  }
}

function withDoRetried(draft: Task, { reachedStep, steps }: FlowState, now: number): Task {
  const others = membersWhere(steps, (_, at) => Number(at) !== reachedStep)
  return openStep(withoutUndoing(draft, others), reachedStep, 'do', now)
}

function withDoneByOperator(draft: Task, { reachedStep, steps }: FlowState, now: number): Task {
  const failed = steps[reachedStep]
  const { error: _error, ...done } = failed?.do ?? { attempts: 0 }
  const doneNow = { ...done, startedAt: done.startedAt ?? now, endedAt: now }
  const record: StepRecord = { state: 'succeeded', do: doneNow }
  return withNextStep(withoutUndoing(draft, { ...steps, [reachedStep]: record }), reachedStep, now)
}

function withUndoRetried(draft: Task, at: number, now: number): Task {
  const { flow } = draft
  if (!flow) return draft
  const state = at === flow.reachedStep ? 'failed' : 'succeeded'
  const { undo: _failed, ...record } = flow.steps[at] ?? { do: { attempts: 0 } }
  const error = failedStepError(flow)
  const again = openStep(withRecords(draft, { ...flow.steps, [at]: { ...record, state } }), at, 'undo', now)
  return { ...again, ...(error && !flow.cancelling && { error }) }
}

function withUndoSkipped(draft: Task, at: number, now: number): Task {
  const record = draft.flow?.steps[at]
  if (!record) return draft
  const left = withRecords(draft, { ...draft.flow?.steps, [at]: { ...record, state: 'skipped' } })
  return withNextUndo(left, at - 1, now, failedStepError(left.flow))
}

/**
 * The draft of a flow that continues with its steps instead of undoing them. It is not cancelled any more. If the failed step was
 * undone, a new round begins, in which all work has new idempotency keys.
 */
function withoutUndoing(task: Task, steps: FlowState['steps']): Task {
  const beginsRound = isUndone(task.flow?.steps[task.flow.reachedStep])
  const draft = withRecords(task, withFailedUndosKept(steps))
  if (!draft.flow) return draft
  const { cancelling: _cancelling, round = 1, ...rest } = draft.flow
  const flow = beginsRound ? { ...rest, round: round + 1 } : { ...rest, ...(round > 1 && { round }) }
  return { ...draft, flow }
}

/** The records in which each step whose undo has failed counts as done, because its effects are still there. */
function withFailedUndosKept(steps: FlowState['steps']): FlowState['steps'] {
  return eachMember(steps, step => {
    const { undo: _failed, ...record } = step
    return step.state === 'undo-failed' ? { ...record, state: 'succeeded' } : step
  })
}

function withRecords(task: Task, steps: FlowState['steps']): Task {
  return task.flow ? { ...task, flow: { ...task.flow, steps } } : task
}
