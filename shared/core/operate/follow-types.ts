import { type Decision, refuse, revise } from '../change.ts'
import { definitionName } from '../flow/flow.ts'
import type { FlowDefinition, StepAction } from '../task/flow-state.ts'
import type { Task } from '../task/task.ts'
import { orderingOf, type TaskType } from '../types/task-type.ts'

/** The present types of a task and of its steps, by name. A type that is missing changes nothing. */
export type PresentTypes = ReadonlyMap<string, TaskType>

/**
 * Gives an open task the present kind and order of its type, and each step of a flow the kind and order of the step's type. The types may
 * have changed since the publish. Where tenants take turns now, a task without a fairness key becomes part of the unnamed tenant.
 *
 * A task is a flow or not for its whole birth, since only its publish resolves steps.
 */
export function followTypes(
  task: Task,
  types: PresentTypes,
  now: number,
): Decision<'finished' | 'follows-already'> {
  if (task.state !== 'open') return refuse('finished')
  const draft = withPresentSteps(withPresentOrder(task, types.get(task.type)), types)
  return draft === task ? refuse('follows-already') : revise(task, { ...draft, operation: 'patch' }, now)
}

export function typesFollowed({ type, flow }: Task): string[] {
  const actions = flow?.definition.steps.flatMap(step => [step.do, ...(step.undo ? [step.undo] : [])]) ?? []
  return [type, ...actions.map(action => action.type)]
}

function withPresentOrder(task: Task, type: TaskType | undefined): Task {
  if (!type) return task
  const kind = isFlow(task) || isFlow(type.configuration) ? task.kind : type.configuration.kind
  const ordering = orderingOf(type)
  const isNewlyFair = type.isFair && !task.isFair && task.fairnessKey === undefined
  if (task.kind === kind && task.ordering === ordering && !isNewlyFair) return task
  return { ...task, kind, ordering, ...(isNewlyFair && { isFair: true }) }
}

function isFlow({ kind }: Pick<Task, 'kind'>): boolean {
  return kind === 'flow'
}

function withPresentSteps(task: Task, types: PresentTypes): Task {
  const { flow } = task
  const definition = flow && presentDefinition(flow.definition, types)
  return definition === flow?.definition ? task : ({ ...task, flow: { ...flow, definition } } as Task)
}

function presentDefinition(definition: FlowDefinition, types: PresentTypes): FlowDefinition {
  const { onCancel } = definition
  const steps = definition.steps.map(step => ({
    ...step,
    do: presentAction(step.do, types),
    ...(step.undo && { undo: presentAction(step.undo, types) }),
  }))
  const isPresent = steps.every(
    (step, at) => step.do === definition.steps[at]?.do && step.undo === definition.steps[at]?.undo,
  )
  return isPresent ? definition : { name: definitionName({ steps, onCancel }), steps, onCancel }
}

/** A type that has become a flow cannot do a step, so its steps stay as they are. */
function presentAction(action: StepAction, types: PresentTypes): StepAction {
  const type = types.get(action.type)
  if (!type || type.configuration.kind === 'flow') return action
  const { kind } = type.configuration
  const ordering = orderingOf(type)
  const isSame = action.kind === kind && action.ordering === ordering && (action.isFair || !type.isFair)
  return isSame ? action : { ...action, kind, ordering, ...(type.isFair && { isFair: true }) }
}
