import { BatonError, type FieldProblem } from '../core/errors.ts'
import { jsonProblem } from '../core/json.ts'
import { MAX_STEPS, MAX_TYPE_LENGTH } from '../core/limits.ts'
import type { Retry } from '../core/options.ts'
import type { StepActionConfiguration, StepConfiguration } from '../core/task-type.ts'
import type { AnyTask } from './any-definition.ts'

/** What is different about a task where it is a step; what is not given is as its type has it. */
type ActionSettings = {
  /** Given to the handler instead of the flow's parameters. */
  readonly input?: unknown
  readonly timeoutMs?: number
  /** From the step's first claim, retries included. */
  readonly deadlineMs?: number
  readonly retry?: Partial<Retry>
}

/** A definition, or the name of a type that is defined elsewhere: served over HTTP, a webhook. */
type StepTask = AnyTask | string

type StepAction = StepTask | (ActionSettings & { readonly task: StepTask })

/** One step as a flow declares it. Settings beside `do` are those of `do`. */
export type FlowStep = ActionSettings & {
  /** Under this name handlers find the step's result among their parameters. */
  readonly name: string
  readonly do: StepAction
  readonly undo?: StepAction
}

const SETTINGS = ['input', 'timeoutMs', 'deadlineMs', 'retry'] as const

/** The steps as data. @throws BatonError `invalid` with a problem for each field that is wrong. */
export function configuredSteps(flow: string, steps: readonly FlowStep[]): StepConfiguration[] {
  const problems = [
    ...countProblems(steps),
    ...steps.flatMap((step, index) => stepProblems(step, index, steps)),
  ]
  if (problems.length > 0) {
    const text = problems.map(({ path, message }) => `${path} ${message}`).join('; ')
    throw new BatonError('invalid', `flow '${flow}': ${text}`, { problems })
  }
  return steps.map(configured)
}

/** The definitions among what the steps do, in their order. */
export function tasksOf(steps: readonly FlowStep[]): AnyTask[] {
  return steps.flatMap(step => [taskOf(step.do), taskOf(step.undo)]).filter(task => typeof task === 'object')
}

function countProblems({ length }: readonly FlowStep[]): FieldProblem[] {
  if (length >= 1 && length <= MAX_STEPS) return []
  return [{ path: 'steps', message: `are ${length}; give 1–${MAX_STEPS}` }]
}

function stepProblems(step: FlowStep, index: number, steps: readonly FlowStep[]): FieldProblem[] {
  const path = `steps.${index}`
  return [
    ...nameProblems(step.name, steps.slice(0, index), steps).map(message => ({
      path: `${path}.name`,
      message,
    })),
    ...actionProblems(step.do, `${path}.do`),
    ...(step.undo === undefined ? [] : actionProblems(step.undo, `${path}.undo`)),
    ...inputProblems(step, path),
    ...twiceProblems(step, path),
  ]
}

function nameProblems(name: string, before: readonly FlowStep[], others: readonly FlowStep[]): string[] {
  if (name === '__proto__') return ["is '__proto__', which no parameter can be called"]
  if (typeof name !== 'string' || name.length < 1 || name.length > MAX_TYPE_LENGTH) {
    return [`must have 1–${MAX_TYPE_LENGTH} characters`]
  }
  if (before.some(other => other.name === name)) return [`is '${name}', as another step's`]
  return others.some(other => name === `undo ${other.name}`) ? [`is '${name}', as another step's undo`] : []
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
  if (kind === 'baton-flow') return `is the flow '${type}'; a step does a task`
  if (kind !== 'baton-task') return 'must be a task definition or the name of a type'
  return stages && stages.length > 1
    ? `is '${type}', which has stages; a step is one piece of work, so make a step of each`
    : undefined
}

function inputProblems({ input }: ActionSettings, path: string): FieldProblem[] {
  const problem = input === undefined ? undefined : jsonProblem(input, `${path}.input`)
  return problem ? [problem] : []
}

function twiceProblems(step: FlowStep, path: string): FieldProblem[] {
  const { do: action } = step
  if (!isAction(action)) return []
  return SETTINGS.filter(name => step[name] !== undefined && action[name] !== undefined).map(name => ({
    path: `${path}.${name}`,
    message: `is given beside 'do' and within it; give it once`,
  }))
}

function configured(step: FlowStep): StepConfiguration {
  return {
    name: step.name,
    do: { ...configuredAction(step.do), ...settingsIn(step) },
    ...(step.undo !== undefined && { undo: configuredAction(step.undo) }),
  }
}

function configuredAction(action: StepAction): StepActionConfiguration {
  const task = isAction(action) ? action.task : action
  return {
    type: typeof task === 'string' ? task : task.type,
    ...(isAction(action) ? settingsIn(action) : {}),
  }
}

function settingsIn(settings: ActionSettings): Omit<StepActionConfiguration, 'type'> {
  const given = SETTINGS.flatMap(name => (settings[name] === undefined ? [] : [[name, settings[name]]]))
  return Object.fromEntries(given)
}

function taskOf(action: StepAction | undefined): StepTask | undefined {
  return isAction(action) ? action.task : action
}

/** Definitions have no member `task`. */
function isAction(action: StepAction | undefined): action is Exclude<StepAction, StepTask> {
  return typeof action === 'object' && action !== null && 'task' in action
}
