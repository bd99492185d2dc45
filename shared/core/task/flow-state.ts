import type { Json } from '../json.ts'
import type { Options } from '../options/options.ts'
import type { STEP_STATES } from '../states.ts'
import type { Body, Ordering, TaskError, TypeKind } from './task.ts'

export type Direction = 'do' | 'undo'

/** What does or undoes a step, everything resolved when the flow was published. */
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

/** The steps of a flow as they were when a task of it was published. The same for many tasks: stored once, by its name. */
export type FlowDefinition = {
  /** Derived from all the rest. */
  readonly name: string
  readonly steps: readonly Step[]
  readonly onCancel: 'undo' | 'leave'
}

export type StepState = (typeof STEP_STATES)[number]

/** One direction of a step: from its first claim to its end. */
export type ActionRecord = {
  readonly startedAt?: number
  readonly endedAt?: number
  /** Runs that counted. */
  readonly attempts: number
  readonly error?: TaskError
  /** The run whose success ended it. */
  readonly fence?: number
  /** Of `do` alone, lest heads of undone flows outgrow 1 KB: its worker, and when it began, if not as the first did. */
  readonly workerId?: string
  readonly ranAt?: number
  /** Of `undo` alone, whose result is kept nowhere: a digest of it; see `run/word.ts`. */
  readonly reportDigest?: string
}

export type StepRecord = {
  readonly state: Exclude<StepState, 'pending'>
  readonly do: ActionRecord
  readonly result?: Body
  readonly undo?: ActionRecord
}

/** How far a flow has come. */
export type FlowState = {
  readonly definition: FlowDefinition
  /** The step reached, from 0; it stays at the one that failed. */
  readonly cursor: number
  /** The step that is worked on, and in which direction. */
  readonly at: number
  readonly direction: Direction
  /** Steps that began, by index. */
  readonly steps: Readonly<Record<string, StepRecord>>
  /** 2 once a step that had been undone is done again, and so on: its idempotency keys are others then. */
  readonly round?: number
  /** Set while a cancelled flow undoes its steps. */
  readonly cancelling?: true
  /** Limit of all `do` steps together, from the due time. */
  readonly deadlineMs?: number
  readonly deadlineAt?: number
}
