import type { Json } from '../json.ts'
import type { Options } from '../options/options.ts'
import type { Ordering, STEP_STATES, TypeKind } from '../states.ts'
import type { Body } from './body.ts'
import type { TaskError } from './error.ts'

export type Direction = 'do' | 'undo'

/** The action that does or undoes a step. All its settings are resolved when the flow is published. */
export type StepAction = {
  readonly type: string
  readonly kind: Exclude<TypeKind, 'flow'>
  readonly ordering: Ordering
  /** Partitions of the type's ready place. */
  readonly shards: number
  /** Whether tenants take turns among the type's tasks. */
  readonly isFair?: true
  readonly options: Options
  /** Given to the handler instead of the flow's parameters. */
  readonly input?: Json
}

export type Step = { readonly name: string; readonly do: StepAction; readonly undo?: StepAction }

/**
 * The steps of a flow as they were at the publish of a task. Many tasks share one definition, which is stored once under its name.
 */
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
  /** Runs that counted. */
  readonly attempts: number
  readonly error?: TaskError
  /** The run whose success ended it. */
  readonly fence?: number
  /** The worker of that run. Only `do` keeps it, so that heads of undone flows stay within 1 KB. */
  readonly workerId?: string
  /** When that run began, if it was not the first one. Only `do` keeps it. */
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

/** The progress of a flow. */
export type FlowState = {
  readonly definition: FlowDefinition
  /** Index of the step reached, from 0. It stays at the step that failed. */
  readonly reachedStep: number
  /** Index of the step that is worked on now. */
  readonly presentStep: number
  /** Whether that step is done or undone now. */
  readonly direction: Direction
  /** The records of the steps that have begun, by index. */
  readonly steps: Readonly<Record<string, StepRecord>>
  /** 2 once a step that was undone is done again, then 3, and so on. Each round has idempotency keys of its own. */
  readonly round?: number
  /** Set while a cancelled flow undoes its steps. */
  readonly cancelling?: true
  /** Time for all `do` steps together, counted from the due time. */
  readonly deadlineMs?: number
  readonly deadlineAt?: number
}
