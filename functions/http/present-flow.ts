import type { ApiTask } from '../../shared/client/api-types.ts'
import type { ApiStep } from '../../shared/client/flow-types.ts'
import { describeSteps } from '../../shared/core/flow/describe-steps.ts'
import type { ActionRecord } from '../../shared/core/task/flow-state.ts'
import { workOf } from '../../shared/core/task/piece.ts'
import type { TaskDescription } from '../../shared/runtime/read/describe-task.ts'
import { iso } from './iso.ts'

type FlowParts = Pick<ApiTask, 'steps' | 'cursor' | 'params' | 'step' | 'stepType' | 'direction'>

/** What the API shows of a task because it is a flow: nothing of others. */
export function presentFlow({ task, stepResults = {}, params }: TaskDescription): FlowParts {
  const { flow, state } = task
  if (!flow) return {}
  const steps = describeSteps(task)
  const present = state === 'open' ? steps[flow.at] : undefined
  return {
    steps: steps.map(({ name, state, record, ...action }) => ({
      name,
      state,
      ...presentAction(action),
      ...(Object.hasOwn(stepResults, name) && { result: stepResults[name] ?? null }),
      ...(record?.undo && { undo: presentAction(record.undo) }),
    })),
    cursor: flow.cursor,
    ...(params && { params }),
    ...(present && { step: present.name, stepType: workOf(task).type, direction: flow.direction }),
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
