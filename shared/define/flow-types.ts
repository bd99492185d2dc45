import type { AnyTask, InputOf, OutputOf } from './any-definition.ts'
import type { FlowStep } from './flow-steps.ts'

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

type CheckedStep<Step extends FlowStep, Params> = CheckedAction<Step['do'], Params, Step> &
  NoOther<Step, keyof FlowStep> &
  ('undo' extends keyof Step
    ? { readonly undo: Fitting<Step['undo' & keyof Step], UndoParams<Step, Params>> }
    : unknown)

/** The parameters of an undo. The result of its own step is optional, because a failed step is undone as well. */
type UndoParams<Step extends FlowStep, Params> = Params & {
  readonly [Name in Step['name']]?: StepResult<Step>
}

type CheckedAction<Action, Params, Step> = Step extends { readonly input: unknown }
  ? {
      readonly input: DeepReadonly<InputOf<Extract<TaskOf<Action>, AnyTask>>>
      readonly do: NoOtherSetting<Action>
    }
  : { readonly do: Fitting<Action, Params> }

/** The type that an action must have in addition to its own, so that its task accepts its input. */
type Fitting<Action, Params> = Action extends { readonly task: infer Task; readonly input: unknown }
  ? { readonly input: DeepReadonly<InputOf<Extract<Task, AnyTask>>> } & NoOtherSetting<Action>
  : Accepts<TaskOf<Action>, Params> extends true
    ? NoOtherSetting<Action>
    : NeedsInput<InputOf<Extract<TaskOf<Action>, AnyTask>>>

/** The task does not accept the flow's parameters, so the action must have an input of its own. */
type NeedsInput<Input> = { readonly task: unknown; readonly input: DeepReadonly<Input> }

type Accepts<Task, Params> = Task extends AnyTask ? ([Params] extends [InputOf<Task>] ? true : false) : true

type TaskOf<Action> = Action extends { readonly task: infer Task } ? Task : Action

type NoOtherSetting<Action> = Action extends { readonly task: unknown }
  ? NoOther<Action, 'task' | 'input' | 'timeoutMs' | 'deadlineMs' | 'retry'>
  : unknown

type NoOther<Given, Known> = { readonly [Name in Exclude<keyof Given, Known>]: never }

type StepResult<Step extends FlowStep> = AsJson<OutputOf<TaskOf<Step['do']>>>

/** The type of a result after it was stored as JSON, as later steps read it. */
type AsJson<Value> = unknown extends Value
  ? // biome-ignore lint/suspicious/noExplicitAny: a result without a type may be read as any type
    any
  : Value extends { toJSON(): infer Written }
    ? Written
    : Value extends object
      ? { readonly [Name in keyof Value]: AsJson<Value[Name]> }
      : Value

/** The compiler infers literals in a flow's declaration as read-only, so an input's type must be read-only as well. */
type DeepReadonly<Value> = unknown extends Value
  ? unknown
  : { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> }
