import type { ApiOperation } from '../../../shared/api/scalars.ts'
import type { ApiHistoryEntry, ApiRun, ApiStep, ApiTask } from '../../../shared/api/tasks.ts'
import { describeSteps, needsAttention } from '../../../shared/core/flow/describe-steps.ts'
import { CANVAS_TYPE } from '../../../shared/core/task/canvas-state.ts'
import type { ActionRecord } from '../../../shared/core/task/flow-state.ts'
import { workOf } from '../../../shared/core/task/piece.ts'
import type { EndedRun } from '../../../shared/core/task/runs.ts'
import { runId, type Task, taskId } from '../../../shared/core/task/task.ts'
import { traceIdOf } from '../../../shared/runtime/kernel/traceparent.ts'
import type { DescribedRun, TaskDescription } from '../../../shared/runtime/read/describe-task.ts'
import { iso } from './iso.ts'

/** A described task as the API shows it. */
export function presentTask(description: TaskDescription): ApiTask {
  const { task, status, statusReason, attempts, runs, history, input, result, error } = description
  const { id, type, key, priority, userId, fairnessKey, tags, options } = task
  const traceId = traceIdOf(task.traceparent)
  return {
    id,
    type,
    key,
    status,
    ...(statusReason && { statusReason }),
    dueAt: iso(task.dueAt),
    priority,
    ...(userId !== undefined && { userId }),
    ...(fairnessKey !== undefined && { fairnessKey }),
    ...(tags && { tags }),
    ...(input !== undefined && { input }),
    ...(result !== undefined && { result }),
    ...(error && { error }),
    concurrency: options.concurrency,
    ...(task.stage !== undefined && { stage: task.stage }),
    runs: runs.map(run => presentRun(task, run)),
    attempts,
    ...presentFlow(description),
    ...presentHandedOn(description),
    ...presentTrouble(task),
    ...(task.member && { canvasId: taskId(CANVAS_TYPE, task.member.canvasId) }),
    ...(task.parentId !== undefined && { parentId: task.parentId }),
    history: history.map(run => presentHistory(run, traceId)),
    ...(traceId !== undefined && { traceId }),
    ...presentTimes(task),
    ...presentOperations(task),
    options,
    ...presentOmitted(description),
  }
}

function presentTrouble(task: Task): Pick<ApiTask, 'needsAttention' | 'callbackProblems'> {
  const { unpublished } = task
  return {
    ...(needsAttention(task) && { needsAttention: true as const }),
    ...(unpublished && { callbackProblems: unpublished.problems }),
  }
}

function presentHandedOn({
  previous,
  isPreviousPaged,
}: TaskDescription): Pick<ApiTask, 'previous' | 'previousPaged'> {
  return {
    ...(previous !== undefined && { previous }),
    ...(isPreviousPaged && { previousPaged: true as const }),
  }
}

function presentOmitted({ isCut }: TaskDescription): Pick<ApiTask, 'omitted'> {
  return isCut ? { omitted: ['runs.result'] } : {}
}

/** The operators' changes of a task, a type or a schedule. The field is absent while there is none. */
export function presentOperations({ operations }: Pick<Task, 'operations'>): {
  readonly operations?: readonly ApiOperation[]
} {
  return operations ? { operations: operations.map(({ at, ...rest }) => ({ at: iso(at), ...rest })) } : {}
}

function presentTimes({ createdAt, startedAt, updatedAt, finishedAt, expiresAt }: Task) {
  return {
    createdAt: iso(createdAt),
    ...(startedAt !== undefined && { startedAt: iso(startedAt) }),
    updatedAt: iso(updatedAt),
    ...(finishedAt !== undefined && { finishedAt: iso(finishedAt) }),
    ...(expiresAt !== undefined && { expiresAt: iso(expiresAt) }),
  }
}

function presentRun({ born }: Task, run: DescribedRun): ApiRun {
  const { workerId, state, fence, startedAt, leaseUntil, endedAt, result, error, progress, log, piece } = run
  return {
    id: runId(born, fence),
    workerId,
    state,
    fence,
    startedAt: iso(startedAt),
    ...(leaseUntil !== undefined && { leaseUntil: iso(leaseUntil) }),
    ...(endedAt !== undefined && { endedAt: iso(endedAt) }),
    ...(result !== undefined && { result }),
    ...(error && { error }),
    ...(progress !== undefined && { progress }),
    ...(log !== undefined && { log }),
    ...(piece !== undefined && { stage: piece }),
  }
}

function presentHistory(run: EndedRun, traceId: string | undefined): ApiHistoryEntry {
  const { startedAt, endedAt, state, error, piece } = run
  return {
    ...(traceId !== undefined && { traceId }),
    ...(piece !== undefined && { stage: piece }),
    startedAt: iso(startedAt),
    endedAt: iso(endedAt),
    costMs: endedAt - startedAt,
    outcome: state,
    ...(error && { error }),
  }
}

type FlowParts = Pick<ApiTask, 'steps' | 'cursor' | 'params' | 'step' | 'stepType' | 'direction'>

/** The fields that the API shows of flows only. */
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
      ...(Object.hasOwn(stepResults, name) && { result: stepResults[name] ?? null }),
      ...(record?.undo && { undo: presentAction(record.undo) }),
    })),
    cursor: flow.reachedStep,
    ...(params && { params }),
    ...(presentStep && { step: presentStep.name, stepType: workOf(task).type, direction: flow.direction }),
  }
}

function presentAction({ startedAt, endedAt, attempts, error }: ActionRecord): NonNullable<ApiStep['undo']> {
  return {
    ...(startedAt !== undefined && { startedAt: iso(startedAt) }),
    ...(endedAt !== undefined && { endedAt: iso(endedAt) }),
    attempts,
    ...(error && { error }),
  }
}
