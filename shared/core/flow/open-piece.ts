import { without } from '../change/change.ts'
import { endRuns } from '../change/end-runs.ts'
import type { Direction, FlowDefinition, FlowState } from '../task/flow-state.ts'
import { pastDigest } from '../task/result.ts'
import { successes, type Task } from '../task/task.ts'

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
export type StageOpening = {
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
  const runs = endRuns(task, Object.keys(task.live), { state: 'cancelled' }, now)
  const draft: Task = { ...rest, ...runs, retrying: false, failures: 0, failuresBy: {}, retryAtBy: {} }
  return { ...draft, ended: task.flow ? withoutSuccesses(draft) : withPastSuccesses(draft) }
}

/** The ended runs of a flow without its successes, which the records of its steps keep. */
export function withoutSuccesses(task: Task): Task['ended'] {
  return without(
    task.ended,
    successes(task).map(({ fence }) => String(fence)),
  )
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
 * The draft with the earlier of two deadlines: that of the step, from its first claim, and, while steps are done, that of the flow.
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
