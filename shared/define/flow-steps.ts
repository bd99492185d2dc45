import type { FieldProblem } from '../core/errors.ts'
import { jsonProblem } from '../core/json.ts'
import type { Retry } from '../core/options/options.ts'
import { definitionProblems, refuseFields } from '../core/rules/type-configuration.ts'
import type {
  StepActionConfiguration,
  StepConfiguration,
  TypeConfiguration,
} from '../core/types/task-type.ts'
import type { AnyTask } from './any-definition.ts'

/** Settings of one step that replace those of its task's type. A setting that is left out is taken from the type. */
type ActionSettings = {
  /** The handler's input, as JSON. @default the flow's parameters: its input and the results of the steps so far */
  readonly input?: unknown
  /** How long one run may take, in milliseconds. @default that of the task's type */
  readonly timeoutMs?: number
  /** How long the step may take with all its retries, in milliseconds from its first claim. @default that of the task's type */
  readonly deadlineMs?: number
  /** How a failed run is retried. @default as the task's type says */
  readonly retry?: Partial<Retry>
}

/** A task definition, or the name of a type that is defined elsewhere, such as a webhook or a type of HTTP workers. */
type StepTask = AnyTask | string

type StepAction = StepTask | (ActionSettings & { readonly task: StepTask })

/** One step of a flow. Settings beside `do` apply to `do` only; give settings of the undo as `undo: { task, … }`. */
export type FlowStep = ActionSettings & {
  /** 1–100 characters, unique in the flow. Later handlers find the step's result in `ctx.params` under this name. */
  readonly name: string
  /** The task that does the step. */
  readonly do: StepAction
  /** The task that undoes the step when it, or a later step, fails for good. @default the step is not undone */
  readonly undo?: StepAction
}

const SETTINGS = ['input', 'timeoutMs', 'deadlineMs', 'retry'] as const

/** Returns the steps as data for the API. `refuseFlow` checks them. */
export function configuredSteps(steps: readonly FlowStep[]): StepConfiguration[] {
  return steps.map(configuredStep)
}

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

/** The definitions of the tasks that do and undo the steps, in the order of the steps. Types given by name are left out. */
export function tasksOf(steps: readonly FlowStep[]): AnyTask[] {
  return steps.flatMap(step => [taskOf(step.do), taskOf(step.undo)]).filter(task => typeof task === 'object')
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

function configuredStep(step: FlowStep): StepConfiguration {
  return {
    name: step.name,
    do: { ...configuredAction(step.do), ...settingsIn(step) },
    ...(step.undo !== undefined && { undo: configuredAction(step.undo) }),
  }
}

function configuredAction(action: StepAction): StepActionConfiguration {
  const task = isAction(action) ? action.task : action
  return {
    type: typeof task === 'string' ? task : task?.type,
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

/** Distinguishes an action with settings from a definition: definitions have no member `task`. */
function isAction(action: StepAction | undefined): action is Exclude<StepAction, StepTask> {
  return typeof action === 'object' && action !== null && 'task' in action
}
