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

/** The steps as data, whatever is wrong with them: `refuseFlow` says that. */
export function configuredSteps(steps: readonly FlowStep[]): StepConfiguration[] {
  return steps.map(configured)
}

/** @throws BatonError `invalid` with a problem for each field of the flow that is wrong, where its definition says it. */
export function refuseFlow(type: string, config: TypeConfiguration, steps: readonly FlowStep[]): void {
  const own = steps.flatMap((step, index) => stepProblems(step, index))
  const paths = own.map(({ path }) => path)
  // What is no task has no name of a type either, which would be said twice.
  const rest = definitionProblems(config)
    .map(({ path, message }) => ({ path: saidAt(path, steps), message }))
    .filter(({ path }) => !paths.some(known => path === known || path.startsWith(`${known}.`)))
  refuseFields(`flow '${type}'`, [...rest, ...own])
}

/** Settings beside `do` are those of `do` in the configuration; there, what is done is called by its type. */
function saidAt(path: string, steps: readonly FlowStep[]): string {
  const [, index = '', direction = '', field = ''] = /^steps\.(\d+)\.(do|undo)\.(\w+)/.exec(path) ?? []
  const step = steps[Number(index)]
  if (index === '' || !step) return path
  const isBeside = direction === 'do' && (step as Record<string, unknown>)[field] !== undefined
  if (isBeside) return path.replace('.do.', '.')
  const action = direction === 'do' ? step.do : step.undo
  return field === 'type' ? path.replace(/\.type$/, isAction(action) ? '.task' : '') : path
}

/** The definitions among what the steps do, in their order. */
export function tasksOf(steps: readonly FlowStep[]): AnyTask[] {
  return steps.flatMap(step => [taskOf(step.do), taskOf(step.undo)]).filter(task => typeof task === 'object')
}

function stepProblems(step: FlowStep, index: number): FieldProblem[] {
  const path = `steps.${index}`
  return [
    ...actionProblems(step.do, `${path}.do`),
    ...(step.undo === undefined ? [] : actionProblems(step.undo, `${path}.undo`)),
    ...inputProblems(step, path),
    ...twiceProblems(step, path),
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

/** Definitions have no member `task`. */
function isAction(action: StepAction | undefined): action is Exclude<StepAction, StepTask> {
  return typeof action === 'object' && action !== null && 'task' in action
}
