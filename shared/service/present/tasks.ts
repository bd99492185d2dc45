import type { Claim, HeartbeatAnswer } from '../../api/runs.ts'
import type { ApiOperation } from '../../api/scalars.ts'
import { type ApiHistoryEntry, type ApiRun, type ApiStep, type ApiTask, taskAnswer } from '../../api/tasks.ts'
import { editsOf } from '../../core/change.ts'
import { describeSteps } from '../../core/flow/flow.ts'
import { beatIntervalMs } from '../../core/run/lease.ts'
import type { ActionRecord } from '../../core/task/flow-state.ts'
import { CANVAS_TYPE } from '../../core/task/head-fields.ts'
import { idempotencyKey, workOf } from '../../core/task/piece.ts'
import { type EndedRun, needsAttention, runId, type Task, taskId } from '../../core/task/task.ts'
import { defined } from '../../core/values/values.ts'
import type { ClaimedTask } from '../../runtime/claim/claimed-task.ts'
import { isolateEach } from '../../runtime/kernel/heads.ts'
import { traceIdOf } from '../../runtime/kernel/log-run-ends.ts'
import type { System } from '../../runtime/kernel/system.ts'
import { type DescribedRun, describeHead, type TaskDescription } from '../../runtime/read/read.ts'
import type { StatusReaders } from '../../runtime/read/served.ts'

/** The answers of an operation that answers with the task. */
export const PRESENT_TASK = { 200: { description: 'The task as it is now.', schema: taskAnswer } }

type Showing = StatusReaders & { readonly system: System }

/** Shows a task whose head was read already. `isBrief` leaves out input and results. */
export async function showTask(call: Showing, task: Task, isBrief = false): Promise<ApiTask> {
  return presentTask(await describeHead(call.system, call, task, isBrief))
}

/** Shows the tasks of a list, without input and results. A task with a fault is logged and left out. */
export function showTasks(call: Showing, tasks: readonly Task[]): Promise<ApiTask[]> {
  return isolateEach(call.system, tasks, tasks.length, task => showTask(call, task, true))
}

export function presentTask(description: TaskDescription): ApiTask {
  const { task, status, statusReason, attempts, runs, formerRuns, history, input, result, error } =
    description
  const { id, type, key, priority, userId, fairnessKey, tags, options } = task
  const traceId = traceIdOf(task.traceparent)
  return {
    ...defined({
      id,
      type,
      key,
      status,
      statusReason,
      dueAt: iso(task.dueAt),
      priority,
      userId,
      fairnessKey,
      tags,
      input,
      result,
      error,
      concurrency: options.concurrency,
      stage: task.stage,
      runs: runs.map(run => presentRun(task, run)),
      formerRuns: formerRuns.length > 0 ? formerRuns.map(run => presentRun(run, run)) : undefined,
      attempts,
    }),
    ...presentFlow(description),
    ...defined({
      previous: description.previous,
      previousPaged: description.isPreviousPaged ? (true as const) : undefined,
      needsAttention: needsAttention(task) ? (true as const) : undefined,
      callbackProblems: task.unpublished?.problems,
      canvasId: task.member && taskId(CANVAS_TYPE, task.member.canvasId),
      parentId: task.parentId,
      history: history.map(run => presentHistory(run, traceId)),
      traceId,
      createdAt: iso(task.createdAt),
      startedAt: isoOf(task.startedAt),
      updatedAt: iso(task.updatedAt),
      finishedAt: isoOf(task.finishedAt),
      expiresAt: isoOf(task.expiresAt),
      revision: editsOf(task),
    }),
    ...presentOperations(task),
    options,
    ...(description.isCut && { omitted: ['runs.result'] as const }),
  }
}

/** The operators' changes of a task, a type or a schedule. The field is absent while there is none. */
export function presentOperations({ operations }: Pick<Task, 'operations'>): {
  readonly operations?: readonly ApiOperation[]
} {
  return operations ? { operations: operations.map(({ at, ...rest }) => ({ at: iso(at), ...rest })) } : {}
}

function presentRun({ born }: Pick<Task, 'born'>, run: DescribedRun): ApiRun {
  const { workerId, state, fence, startedAt, result, error, progress, log, piece } = run
  return defined({
    id: runId(born, fence),
    workerId,
    state,
    fence,
    startedAt: iso(startedAt),
    leaseUntil: isoOf(run.leaseUntil),
    endedAt: isoOf(run.endedAt),
    result,
    error,
    progress,
    log,
    stage: piece,
  })
}

function presentHistory(run: EndedRun, traceId: string | undefined): ApiHistoryEntry {
  const { startedAt, endedAt, state, error, piece } = run
  return defined({
    traceId,
    stage: piece,
    startedAt: iso(startedAt),
    endedAt: iso(endedAt),
    costMs: endedAt - startedAt,
    outcome: state,
    error,
  })
}

type FlowParts = Pick<ApiTask, 'steps' | 'cursor' | 'params' | 'step' | 'stepType' | 'direction'>

function presentFlow({ task, stepResults = {}, params }: TaskDescription): FlowParts {
  const { flow, state } = task
  if (!flow) return {}
  const steps = describeSteps(task)
  const presentStep = state === 'open' ? steps[flow.presentStep] : undefined
  return {
    steps: steps.map(({ name, state, record, ...action }) => ({
      name,
      state,
      ...presentAction(action),
      ...defined({
        result: Object.hasOwn(stepResults, name) ? (stepResults[name] ?? null) : undefined,
        undo: record?.undo && presentAction(record.undo),
      }),
    })),
    cursor: flow.reachedStep,
    ...(params && { params }),
    ...(presentStep && { step: presentStep.name, stepType: workOf(task).type, direction: flow.direction }),
  }
}

function presentAction({ startedAt, endedAt, attempts, error }: ActionRecord): NonNullable<ApiStep['undo']> {
  return defined({ startedAt: isoOf(startedAt), endedAt: isoOf(endedAt), attempts, error })
}

/**
 * A claim as the API shows it: the running task with its input, and what the worker's reports about the run must name. It
 * leaves out the operators' changes.
 */
export function presentClaim(
  { task, run, input, params, previous, isPreviousPaged, isInputParams }: ClaimedTask,
  { input: _stored, ...description }: TaskDescription,
): Claim {
  const { operations: _operations, ...shown } = presentTask({
    ...description,
    ...defined({ input, params, previous, isPreviousPaged }),
  })
  return {
    task: {
      ...shown,
      ...(isInputParams && { inputIsParams: true as const }),
    },
    run: {
      id: runId(task.born, run.fence),
      fence: run.fence,
      leaseUntil: iso(run.leaseUntil),
      idempotencyKey: idempotencyKey(task),
    },
  }
}

/**
 * The answer to a heartbeat. Its `heartbeatMs` is the interval that this run must keep. A longer lease in the options
 * allows a longer interval only for runs that were claimed with that lease.
 */
export function presentHeartbeat(task: Task, fence: number, leaseUntil: number): HeartbeatAnswer {
  const heartbeatMs = beatIntervalMs(task, fence)
  return { leaseUntil: iso(leaseUntil), options: { ...task.options, heartbeatMs } }
}

/** A time as the API shows it: ISO 8601 in UTC. */
export function iso(time: number): string {
  return new Date(time).toISOString()
}

/** Like `iso`, for a time that may be missing. */
export function isoOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : iso(time)
}
