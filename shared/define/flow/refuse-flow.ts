import { definitionProblems, refuseFields } from '../../core/rules/type-configuration.ts'
import type { TypeConfiguration } from '../../core/types/task-type.ts'
import { type FieldProblem, jsonProblem } from '../../core/values/values.ts'
import type { ActionSettings, FlowStep, StepAction, StepTask } from './flow-steps.ts'
import { isAction, SETTINGS, taskOf } from './flow-steps.ts'

/** @throws BatonError `invalid` with one problem for each wrong field, under its path in the flow's definition. */
export function refuseFlow(type: string, config: TypeConfiguration, steps: readonly FlowStep[]): void {
  const ofSteps = steps.flatMap((step, index) => stepProblems(step, index))
  const paths = ofSteps.map(({ path }) => path)
  // A step without a task has no type name either. Only its missing task is reported.
  const ofConfiguration = definitionProblems(config)
    .map(({ path, message }) => ({ path: declaredPath(path, steps), message }))
    .filter(({ path }) => !paths.some(known => path === known || path.startsWith(`${known}.`)))
  refuseFields(`flow '${type}'`, [...ofConfiguration, ...ofSteps])
}

/**
 * Translates a path of the configuration into the path of the flow's definition. The configuration has the settings beside `do`
 * within `do`, and has the name of a task's type in place of the task.
 */
function declaredPath(path: string, steps: readonly FlowStep[]): string {
  const [, index = '', direction = '', field = ''] = /^steps\.(\d+)\.(do|undo)\.(\w+)/.exec(path) ?? []
  const step = steps[Number(index)]
  if (index === '' || !step) return path
  const isBeside = direction === 'do' && (step as Record<string, unknown>)[field] !== undefined
  if (isBeside) return path.replace('.do.', '.')
  const action = direction === 'do' ? step.do : step.undo
  return field === 'type' ? path.replace(/\.type$/, isAction(action) ? '.task' : '') : path
}

function stepProblems(step: FlowStep, index: number): FieldProblem[] {
  const path = `steps.${index}`
  return [
    ...actionProblems(step.do, `${path}.do`),
    ...(step.undo === undefined ? [] : actionProblems(step.undo, `${path}.undo`)),
    ...inputProblems(step, path),
    ...duplicateProblems(step, path),
  ]
}

function actionProblems(action: StepAction, path: string): FieldProblem[] {
  const task = taskOf(action)
  const problem = taskProblem(task)
  const here = isAction(action) ? `${path}.task` : path
  return [
    ...(problem === undefined ? [] : [{ path: here, message: problem }]),
    ...(isAction(action) ? inputProblems(action, path) : []),
  ]
}

function taskProblem(task: StepTask | undefined): string | undefined {
  if (typeof task === 'string') return undefined
  const { kind, type, stages } = (task ?? {}) as { kind?: string; type?: string; stages?: readonly string[] }
  if (kind === 'baton-flow') return `is the flow '${type}'; give a task`
  if (kind !== 'baton-task') return 'must be a task definition or the name of a type'
  return stages && stages.length > 1
    ? `is '${type}', which has stages; make one step of each stage`
    : undefined
}

function inputProblems({ input }: ActionSettings, path: string): FieldProblem[] {
  const problem = input === undefined ? undefined : jsonProblem(input, `${path}.input`)
  return problem ? [problem] : []
}

function duplicateProblems(step: FlowStep, path: string): FieldProblem[] {
  const { do: action } = step
  if (!isAction(action)) return []
  return SETTINGS.filter(name => step[name] !== undefined && action[name] !== undefined).map(name => ({
    path: `${path}.${name}`,
    message: `is given beside 'do' and within it; give it once`,
  }))
}
