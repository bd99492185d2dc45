import { without } from '../change/change.ts'
import { endRuns } from '../change/end-runs.ts'
import type { Direction, FlowDefinition, FlowState } from '../task/flow-state.ts'
import { pastDigest } from '../task/result.ts'
import { successes, type Task } from '../task/task.ts'

/** The draft of a new task of a flow, at its first step. The options it was published with hold for the flow as a whole. */
export function startFlow(task: Task, definition: FlowDefinition): Task {
  const { deadlineMs } = task.options
  const flow: FlowState = {
    definition,
    cursor: 0,
    at: 0,
    direction: 'do',
    steps: {},
    ...(deadlineMs !== undefined && { deadlineMs, deadlineAt: task.dueAt + deadlineMs }),
  }
  return withPiece(task, flow)
}

/**
 * The draft at another step or direction, its successes, failures and budget afresh. Live runs end cancelled. What is to
 * be undone does not wait for the retry that the step before it would have had.
 */
export function openStep(task: Task, at: number, direction: Direction, now: number): Task {
  const { flow } = task
  if (!flow) throw new RangeError(`${task.id} is no flow and has no step ${at}`)
  const cursor = direction === 'do' ? at : flow.cursor
  const dueAt = direction === 'undo' ? Math.min(task.dueAt, now) : task.dueAt
  return withPiece({ ...closed(task, now), dueAt }, { ...flow, at, direction, cursor })
}

/** What a stage of a task begins with. */
export type StageOpening = {
  readonly stage: string
  readonly dueAt: number
  readonly priority?: number
}

/** The draft in another stage, its successes, failures and budget afresh. Live runs end cancelled. */
export function openStage(task: Task, { stage, dueAt, priority }: StageOpening, now: number): Task {
  return {
    ...closed(task, now),
    stage,
    dueAt,
    retrying: false,
    ...(priority !== undefined && { priority }),
  }
}

/** The first claim of a step begins it, and its deadline with it. */
export function beginPiece(task: Task, now: number): Task {
  const { flow } = task
  if (!flow) return task
  const { at, direction } = flow
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

/** The draft of a task whose piece is over: nothing of it counts for the next one. */
function closed(task: Task, now: number): Task {
  const { error: _error, ...rest } = task
  const runs = endRuns(task, Object.keys(task.live), { state: 'cancelled' }, now)
  const draft: Task = { ...rest, ...runs, retrying: false, failures: 0, failuresBy: {} }
  return { ...draft, ended: task.flow ? withoutSuccesses(draft) : withPastSuccesses(draft) }
}

/** A flow keeps what a step came to with the step itself. */
export function withoutSuccesses(task: Task): Task['ended'] {
  return without(
    task.ended,
    successes(task).map(({ fence }) => String(fence)),
  )
}

/** What has succeeded so far stays on record, and counts no more. */
export function withPastSuccesses(task: Task): Task['ended'] {
  const past = successes(task).map(({ result, reportDigest: said, ...run }) => {
    const word = pastDigest({ ...(result && { result }), ...(said !== undefined && { reportDigest: said }) })
    return [run.fence, { ...run, past: true as const, ...(word !== undefined && { word }) }]
  })
  return { ...task.ended, ...Object.fromEntries(past) }
}

/** Options are always those of the present piece; how long the task is kept is the flow's own. */
function withPiece(task: Task, flow: FlowState): Task {
  const action = flow.definition.steps[flow.at]?.[flow.direction]
  if (!action) throw new RangeError(`${task.id} has nothing to ${flow.direction} at step ${flow.at}`)
  const { retentionMs } = task.options
  return withDeadline({ ...task, flow, options: { ...action.options, retentionMs } })
}

/** The limit of the step from its first claim, and while steps are done that of the flow as a whole. */
export function withDeadline(task: Task): Task {
  const { flow, options } = task
  if (!flow) return task
  const { deadlineAt: _former, ...rest } = task
  const startedAt = flow.steps[flow.at]?.[flow.direction]?.startedAt
  const ofStep = startedAt === undefined ? undefined : startedAt + (options.deadlineMs ?? Number.NaN)
  const ofFlow = flow.direction === 'do' ? flow.deadlineAt : undefined
  const limits = [ofStep, ofFlow].filter(limit => limit !== undefined && !Number.isNaN(limit)) as number[]
  return limits.length > 0 ? { ...rest, deadlineAt: Math.min(...limits) } : rest
}
