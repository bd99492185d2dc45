import type { Retry } from '../../core/options.ts'
import type { StepActionConfiguration, StepConfiguration } from '../../core/types/task-type.ts'
import type { AnyTask, InputOf, OutputOf } from '../definitions.ts'
import type { Known, Wrong } from '../signature.ts'

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

/**
 * The type that the steps must have, so that each task accepts its input. That input is the step's own `input`, or else
 * the flow's parameters: the flow's input and the results of earlier steps. The compiler cannot check a list of unknown
 * length, nor types given by name.
 */
export type CheckedSteps<Steps extends readonly unknown[], Params> = number extends Steps['length']
  ? unknown
  : ByIndex<AllChecked<Steps, Params>>

/** The members of a tuple without its methods: an intersection of two tuples would need methods that agree. */
type ByIndex<Steps extends readonly unknown[]> = {
  readonly [Index in Exclude<keyof Steps, keyof (readonly unknown[])>]: Steps[Index]
}

type AllChecked<
  Steps extends readonly unknown[],
  Params,
  Checked extends readonly unknown[] = readonly [],
> = Steps extends readonly [infer Step extends FlowStep, ...infer Others]
  ? AllChecked<
      Others,
      Params & { readonly [Name in Step['name']]: StepResult<Step> },
      readonly [...Checked, CheckedStep<Step, Params>]
    >
  : Checked

/** The type of a flow's result, which is the result of its last step. */
export type FlowOutput<Steps extends readonly FlowStep[]> = Steps extends readonly [
  ...unknown[],
  infer Last extends FlowStep,
]
  ? OutputOf<TaskOf<Last['do']>>
  : OutputOf<TaskOf<Steps[number]['do']>>

/** The type of a flow's parameters. Without a schema they are not checked. */
// biome-ignore lint/suspicious/noExplicitAny: any input will do
export type ParamsOf<FlowInput> = object extends FlowInput ? any : FlowInput

type CheckedStep<Step extends FlowStep, Params> = Known<Step, keyof FlowStep> & {
  readonly do: CheckedAction<Step['do'], Params, GivenInput<Step>>
} & ('undo' extends keyof Step
    ? { readonly undo: CheckedAction<Step['undo' & keyof Step], UndoParams<Step, Params>, Missing> }
    : unknown) &
  (Step extends { readonly input: infer Input }
    ? { readonly input: CheckedInput<Input, TaskOf<Step['do']>> }
    : unknown)

/** The parameters of an undo. The result of its own step is optional, because a failed step is undone as well. */
type UndoParams<Step extends FlowStep, Params> = Params & {
  readonly [Name in Step['name']]?: StepResult<Step>
}

/** Stands for an input that a step does not give. */
type Missing = { readonly kind: 'no input is given' }

type GivenInput<Of> = Of extends { readonly input: infer Input } ? Input : Missing

/** The type that an action must have in addition to its own. `Beside` is the input that its step gives beside it. */
type CheckedAction<Action, Params, Beside> = Action extends { readonly task: infer Task }
  ? Known<Action, 'task' | 'input' | 'timeoutMs' | 'deadlineMs' | 'retry'> & {
      readonly task: CheckedTask<
        Task,
        Params,
        GivenInput<Action> extends Missing ? Beside : GivenInput<Action>
      >
    } & (Action extends { readonly input: infer Input }
        ? { readonly input: CheckedInput<Input, Task> }
        : unknown)
  : CheckedTask<Action, Params, Beside>

type CheckedTask<Task, Params, Input> = Task extends AnyTask
  ? CheckedParams<Task, Params, NeededParams<Task>, 'params'> &
      (Input extends Missing ? CheckedParams<Task, Params, InputOf<Task>, 'input'> : unknown)
  : unknown

type NeededParams<Task extends AnyTask> = InputOf<{ readonly input?: Task['params'] }>

/** Unless the flow's parameters are what the task needs, the problem with the names of the members that are wrong. */
type CheckedParams<Task extends AnyTask, Params, Needed, As extends 'input' | 'params'> = [Params] extends [
  Needed,
]
  ? unknown
  : Wrong<
      As extends 'input'
        ? `give the step an 'input': '${Task['type']}' does not accept the flow's parameters`
        : `the flow does not have the 'params' of '${Task['type']}'`,
      {
        [Name in keyof Needed & string]: [Pick<Params, Name & keyof Params>] extends [Pick<Needed, Name>]
          ? never
          : Name
      }[keyof Needed & string]
    >

/** An input that is given must be what the task takes. */
type CheckedInput<_Input, Task> = Task extends AnyTask ? DeepReadonly<InputOf<Task>> : unknown

type TaskOf<Action> = Action extends { readonly task: infer Task } ? Task : Action

type StepResult<Step extends FlowStep> = Readable<OutputOf<TaskOf<Step['do']>>>

/** A result without a type may be read as any type. */
// biome-ignore lint/suspicious/noExplicitAny: as above
type Readable<Result> = unknown extends Result ? any : Result

/** The compiler infers literals in a flow's declaration as read-only, so an input's type must be read-only as well. */
type DeepReadonly<Value> = unknown extends Value
  ? unknown
  : { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> }
