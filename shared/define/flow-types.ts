import type { AnyTask, InputOf, OutputOf } from './any-definition.ts'
import type { FlowStep } from './flow-steps.ts'

/**
 * The steps as they must be, by their index: each task takes what its step gives it, which is the step's own `input`,
 * else the flow's parameters: its input and the results of the steps before. Steps whose number the compiler does not
 * know are not checked, nor are types given by name.
 */
export type CheckedSteps<Steps extends readonly unknown[], Params> = number extends Steps['length']
  ? unknown
  : ByIndex<AllChecked<Steps, Params>>

/** No tuple: the methods of two would have to agree. */
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
      Params & { readonly [Name in Step['name']]: Handed<Step> },
      readonly [...Checked, CheckedStep<Step, Params>]
    >
  : Checked

/** What a flow comes to: the result of its last step. */
export type FlowOutput<Steps extends readonly FlowStep[]> = Steps extends readonly [
  ...unknown[],
  infer Last extends FlowStep,
]
  ? OutputOf<TaskOf<Last['do']>>
  : OutputOf<TaskOf<Steps[number]['do']>>

/** Parameters of a flow of which no schema says what it takes are not checked. */
// biome-ignore lint/suspicious/noExplicitAny: any input will do
export type ParamsOf<FlowInput> = object extends FlowInput ? any : FlowInput

type CheckedStep<Step extends FlowStep, Params> = CheckedAction<Step['do'], Params, Step> &
  NoOther<Step, keyof FlowStep> &
  ('undo' extends keyof Step
    ? { readonly undo: Fitting<Step['undo' & keyof Step], UndoParams<Step, Params>> }
    : unknown)

/** A step that failed is undone, too: its result may be there or not. */
type UndoParams<Step extends FlowStep, Params> = Params & {
  readonly [Name in Step['name']]?: Handed<Step>
}

type CheckedAction<Action, Params, Step> = Step extends { readonly input: unknown }
  ? { readonly input: Frozen<InputOf<Extract<TaskOf<Action>, AnyTask>>>; readonly do: NoOtherSetting<Action> }
  : { readonly do: Fitting<Action, Params> }

/** What an action must be beside what it is. */
type Fitting<Action, Params> = Action extends { readonly task: infer Task; readonly input: unknown }
  ? { readonly input: Frozen<InputOf<Extract<Task, AnyTask>>> } & NoOtherSetting<Action>
  : Takes<TaskOf<Action>, Params> extends true
    ? NoOtherSetting<Action>
    : NeedsInput<InputOf<Extract<TaskOf<Action>, AnyTask>>>

/** The task does not take the flow's parameters, so this must be given in their place. */
type NeedsInput<Input> = { readonly task: unknown; readonly input: Frozen<Input> }

type Takes<Task, Params> = Task extends AnyTask ? ([Params] extends [InputOf<Task>] ? true : false) : true

type TaskOf<Action> = Action extends { readonly task: infer Task } ? Task : Action

type NoOtherSetting<Action> = Action extends { readonly task: unknown }
  ? NoOther<Action, 'task' | 'input' | 'timeoutMs' | 'deadlineMs' | 'retry'>
  : unknown

type NoOther<Given, Known> = { readonly [Name in Exclude<keyof Given, Known>]: never }

type Handed<Step extends FlowStep> = AsJson<OutputOf<TaskOf<Step['do']>>>

/** A result as the next step finds it: stored as JSON. */
type AsJson<Value> = unknown extends Value
  ? // biome-ignore lint/suspicious/noExplicitAny: of a result that nobody typed, everything may be expected
    any
  : Value extends { toJSON(): infer Written }
    ? Written
    : Value extends object
      ? { readonly [Name in keyof Value]: AsJson<Value[Name]> }
      : Value

/** Literals in a flow's declaration are read-only to the compiler. */
type Frozen<Value> = unknown extends Value ? unknown : { readonly [Name in keyof Value]: Frozen<Value[Name]> }
