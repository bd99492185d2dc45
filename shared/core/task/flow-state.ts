import type { Options } from '../options.ts'
import type { Ordering, STEP_STATES, TypeKind } from '../states.ts'
import type { TaskError } from '../task-error/task-error.ts'
import type { Json } from '../values/values.ts'
import type { Body } from './head-fields.ts'

export type Direction = 'do' | 'undo'

/** The action that does or undoes a step. All its settings are resolved when the flow is published. */
export type StepAction = {
  readonly type: string
  readonly kind: Exclude<TypeKind, 'flow'>
  readonly ordering: Ordering
  /** How many partitions the type's ready place has. */
  readonly shards: number
  /** Whether tenants take turns among the type's tasks. */
  readonly isFair?: true
  readonly options: Options
  /** The input that the handler gets instead of the flow's parameters. */
  readonly input?: Json
}

export type Step = { readonly name: string; readonly do: StepAction; readonly undo?: StepAction }

/** The name of a step's undo among the pieces of its flow. */
export function undoName(step: string): string {
  return `undo ${step}`
}

/** The steps of a flow as they were at the publish of a task. Many tasks share one definition, which is stored once under its name. */
export type FlowDefinition = {
  /** A hash of all other members. */
  readonly name: string
  readonly steps: readonly Step[]
  readonly onCancel: 'undo' | 'leave'
}

export type StepState = (typeof STEP_STATES)[number]

/** The record of one direction of a step, from its first claim to its end. */
export type ActionRecord = {
  readonly startedAt?: number
  readonly endedAt?: number
  /** How many runs of this direction counted. */
  readonly attempts: number
  readonly error?: TaskError
  /** The fence of the run whose success ended this direction. */
  readonly fence?: number
  /** The worker of that run. Only `do` keeps it, so that heads of undone flows stay within 1 KB. */
  readonly workerId?: string
  /** The start of that run, if an earlier run began the step. Only `do` keeps it. */
  readonly ranAt?: number
  /** A digest of that run's report. Only `undo` keeps it, since no record keeps the result of an undo. See `run/report.ts`. */
  readonly reportDigest?: string
}

export type StepRecord = {
  readonly state: Exclude<StepState, 'pending'>
  readonly do: ActionRecord
  readonly result?: Body
  readonly undo?: ActionRecord
}

export type FlowState = {
  readonly definition: FlowDefinition
  /** The index, from 0, of the last step that the flow has come to. It stays at the failed step while steps are undone. */
  readonly reachedStep: number
  /** The index of the step that the flow does or undoes now. */
  readonly presentStep: number
  /** Whether the flow does or undoes the present step. */
  readonly direction: Direction
  /** The records of the steps that have begun, by index. */
  readonly steps: Readonly<Record<string, StepRecord>>
  /** The round, from 2 on. A round begins when an undone step is done again, and has idempotency keys of its own. */
  readonly round?: number
  /** Set while a cancelled flow undoes its steps. */
  readonly cancelling?: true
  /** The time for all `do` steps together, counted from the due time. */
  readonly deadlineMs?: number
  readonly deadlineAt?: number
}
