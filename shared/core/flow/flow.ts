/**
 * A flow is a task of several steps. Each step has a `do`, and may have an `undo` that reverses it. The steps are done in their
 * order. When a step fails for good, that step and those before it are undone in reverse order. This is a saga.
 *
 * One direction of a step is a piece of work: it has its own options, budget and deadline, and runs as a plain task does. A task
 * that is not a flow is a single piece, or one piece for each of its stages. `pieces.ts` begins each piece
 * and decides what follows from its end. `resume.ts` resumes a failed flow. This file shows the steps to callers.
 */

import { PARAMS_BYTES_MAX } from '../bounds.ts'
import type { ActionRecord, FlowDefinition, FlowState, StepRecord, StepState } from '../task/flow-state.ts'
import { bodyBytes } from '../task/head-fields.ts'
import { attempts } from '../task/piece.ts'
import type { EndedRun, Task } from '../task/task.ts'
import { digestOf } from '../values/text.ts'

/** A name holds one hash of 32 bits for each salt. A system has some hundred definitions, which 96 bits distinguish. */
const SALTS = ['a', 'b', 'c'] as const

/** The name of a flow's definition. It follows from the content, so equal definitions have the same name. */
export function definitionName(content: Omit<FlowDefinition, 'name'>): string {
  return digestOf(JSON.stringify(content), SALTS)
}

/** How many bytes of a flow's parameters are left for the result of its present step; undefined for a task that is not a flow. */
export function roomForResult({ flow, input }: Task): number | undefined {
  if (!flow) return undefined
  const results = Object.values(flow.steps).map(({ result }) => bodyBytes(result))
  return PARAMS_BYTES_MAX - results.reduce((sum, bytes) => sum + bytes, bodyBytes(input))
}

/** A step as the API shows it. A step that has not begun is pending. */
type DescribedStep = ActionRecord & {
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
