import type { Change, Operator } from '../../core/change/change.ts'
import type { Head } from '../../core/task/head.ts'
import type { Chance, Clock, Log, Metrics } from '../../ports/machine.ts'
import type { FarTimers, Messages, Resender } from '../../ports/messages.ts'
import type {
  ActivityStore,
  CanvasStore,
  DeadLetterStore,
  FailureStore,
  LimitStore,
  RecordStore,
  Targets,
  TaskStore,
  TurnStore,
  TypeStore,
  WorkerStore,
} from '../../ports/stores.ts'

/**
 * The stores, queues, clocks and logs that a use case works with. Each entry point composes one `System` from its
 * adapters; tests compose it from memory stores.
 */
export type System = {
  readonly clock: Clock
  readonly chance: Chance
  readonly tasks: TaskStore
  readonly types: TypeStore
  readonly canvases: CanvasStore
  readonly records: RecordStore
  readonly limits: LimitStore
  readonly turns: TurnStore
  readonly failures: FailureStore
  readonly targets: Targets
  readonly workers: WorkerStore
  readonly messages: Messages
  readonly log: Log
  readonly metrics: Metrics
  /** The hooks that add to each change of a head, called in this order: `CHANGE_HOOKS` of `change-hooks.ts`. */
  readonly changeHooks: readonly ChangeHook[]
  /** The operator in whose name a request changes tasks. Set only in a system that serves this one request. */
  readonly operator?: Operator
}

/** The part of a system that counts the activity of types, or shows it. Handlers and workers need not load the code for it. */
export type ActivitySystem = { readonly activity: ActivityStore }

/** A `System` for processes that set timers further ahead than a queue can delay a message, and count what has changed. */
export type PlanningSystem = System & ActivitySystem & { readonly timers: FarTimers }

/** A `System` for processes that show activity, explain dead letters and send them again. Handlers and workers need not load the code for them. */
export type DiagnosticSystem = System &
  ActivitySystem & {
    readonly deadLetters: DeadLetterStore
    readonly resender: Resender
  }

/** A feature's part in each change of a head. The kernel calls the hooks without knowing the features. */
export type ChangeHook = {
  /** Called before the write: returns the change with the feature's additions. */
  prepare?(system: System, change: Change): Promise<Change>
  /** Called when the prepared change was refused, since another writer was faster. */
  refused?(system: System, change: Change): void
  /** Called after the write. `before` is the head that the writer held. Must not throw, since the change is stored. */
  written?(system: System, before: Head | undefined, after: Head): Promise<void>
}
