import type { Change } from '../../core/change/change.ts'
import type { Operator } from '../../core/change/operations.ts'
import type { Task } from '../../core/task/task.ts'
import type { Chance, Clock, Log, Metrics } from '../../ports/machine.ts'
import type { FarTimers, Messages } from '../../ports/messages.ts'
import type {
  CanvasStore,
  LimitStore,
  RecordStore,
  Targets,
  TaskStore,
  TurnStore,
  TypeStore,
  WorkerStore,
} from '../../ports/stores.ts'

/** The world a use case works in. Entry points make it once, from adapters; tests make it from memory. */
export type System = {
  readonly clock: Clock
  readonly chance: Chance
  readonly tasks: TaskStore
  readonly types: TypeStore
  readonly canvases: CanvasStore
  readonly records: RecordStore
  readonly limits: LimitStore
  readonly turns: TurnStore
  readonly targets: Targets
  readonly workers: WorkerStore
  readonly messages: Messages
  readonly log: Log
  readonly metrics: Metrics
  /** What features add to each change of a head, in this order: `CHANGE_HOOKS` of `shared/runtime/change-hooks.ts`. */
  readonly changeHooks: readonly ChangeHook[]
  /** For whom a request changes something: of a system that serves this one request. */
  readonly operator?: Operator
}

/** The world of those who plan ahead beyond what a queue can delay. */
export type PlanningSystem = System & { readonly timers: FarTimers }

/** What a feature adds to each change of a head. The kernel calls it, and knows no feature by name. */
export type ChangeHook = {
  /** The change with what this feature adds to it, before it is written. */
  prepare?(system: System, change: Change): Promise<Change>
  /** The prepared change was refused: another writer was faster. */
  refused?(system: System, change: Change): void
  /** The change is written: `before` is the head that the writer held. Must not throw, since the change stands. */
  written?(system: System, before: Task | undefined, after: Task): Promise<void>
}
