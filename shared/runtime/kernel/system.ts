import type { Operator } from '../../core/change/operations.ts'
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
  /** For whom a request changes something: of a system that serves this one request. */
  readonly operator?: Operator
}

/** The world of those who plan ahead beyond what a queue can delay. */
export type PlanningSystem = System & { readonly timers: FarTimers }
