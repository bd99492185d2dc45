import { attempts } from '../task/attempts.ts'
import type { ActionRecord, FlowState, StepRecord, StepState } from '../task/flow-state.ts'
import type { EndedRun } from '../task/runs.ts'
import type { Task } from '../task/task.ts'

/** A step as the API shows it. A step that has not begun is pending. */
export type DescribedStep = ActionRecord & {
  readonly name: string
  readonly state: StepState
  readonly record?: StepRecord
}

export function describeSteps(task: Task): DescribedStep[] {
  const { flow } = task
  if (!flow) return []
  return flow.definition.steps.map(({ name }, index) => {
    const record = presentRecord(task, flow, index)
    return record
      ? { name, state: record.state, ...record.do, record }
      : { name, state: 'pending', attempts: 0 }
  })
}

/** The record of a step. For the present step of an open flow it includes the runs that count so far. */
function presentRecord(
  task: Task,
  { steps, presentStep: at, direction }: FlowState,
  index: number,
): StepRecord | undefined {
  const record = steps[index]
  const action = record?.[direction]
  if (!record || !action || task.state !== 'open' || index !== at) return record
  return { ...record, [direction]: { ...action, attempts: attempts(task).used } }
}

/** The runs that did a step successfully. A head keeps them only in the records of its steps. */
export function stepRuns({ flow }: Task): EndedRun[] {
  if (!flow) return []
  return Object.entries(flow.steps).flatMap(([index, { do: done }]) =>
    runOf(done, flow.definition.steps[Number(index)]?.name ?? index),
  )
}

function runOf(action: ActionRecord, piece: string): EndedRun[] {
  const { fence, workerId, startedAt, ranAt = startedAt, endedAt } = action
  if (fence === undefined || workerId === undefined || ranAt === undefined || endedAt === undefined) return []
  return [{ fence, workerId, state: 'succeeded', startedAt: ranAt, endedAt, piece }]
}

/** Whether an operator must decide, because an undo has failed for good or an owed callback cannot be published. */
export function needsAttention({ flow, state, unpublished }: Task): boolean {
  if (unpublished) return true
  return state === 'failed' && Object.values(flow?.steps ?? {}).some(step => step.state === 'undo-failed')
}
