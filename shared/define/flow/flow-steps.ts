import type { Retry } from '../../core/options/options.ts'
import type { StepActionConfiguration, StepConfiguration } from '../../core/types/task-type.ts'
import type { AnyTask } from '../definitions.ts'

/** Settings of one step that replace those of its task's type. A setting that is left out is taken from the type. */
export type ActionSettings = {
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
export type StepTask = AnyTask | string

export type StepAction = StepTask | (ActionSettings & { readonly task: StepTask })

/** One step of a flow. Settings beside `do` apply to `do` only; give settings of the undo as `undo: { task, … }`. */
export type FlowStep = ActionSettings & {
  /** 1–100 characters, unique in the flow. Later handlers find the step's result in `ctx.params` under this name. */
  readonly name: string
  /** The task that does the step. */
  readonly do: StepAction
  /** The task that undoes the step when it, or a later step, fails for good. @default the step is not undone */
  readonly undo?: StepAction
}

/** The names of the settings of a step. */
export const SETTINGS = ['input', 'timeoutMs', 'deadlineMs', 'retry'] as const

/** Returns the steps as data for the API. `refuse-flow.ts` checks them. */
export function configuredSteps(steps: readonly FlowStep[]): StepConfiguration[] {
  return steps.map(configuredStep)
}

/** The definitions of the tasks that do and undo the steps, in the order of the steps. Types given by name are left out. */
export function tasksOf(steps: readonly FlowStep[]): AnyTask[] {
  return steps.flatMap(step => [taskOf(step.do), taskOf(step.undo)]).filter(task => typeof task === 'object')
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

/** The task of an action. Undefined when a definition that the compiler did not check has none. */
export function taskOf(action: StepAction | undefined): StepTask | undefined {
  return isAction(action) ? action.task : action
}

/** Distinguishes an action with settings from a definition: definitions have no member `task`. */
export function isAction(action: StepAction | undefined): action is Exclude<StepAction, StepTask> {
  return typeof action === 'object' && action !== null && 'task' in action
}
