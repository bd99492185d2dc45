import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import type { finishOverHttp } from '../../../shared/runtime/run/http-runs.ts'
import type { ScenarioKind } from '../generate/generate.ts'
import type { Table } from '../world/aws/table.ts'

/**
 * A fault that is planted in a simulated system to show that the invariants notice it. It wraps one of the
 * ports, and changes what the code asks of that port as if the code itself were faulty.
 */
export type PlantedFault = {
  /** What the system does wrong, as a sentence. */
  readonly name: string
  /** The kind of scenario that alone can show the fault. @default every scenario can */
  readonly needs?: ScenarioKind
  /** Returns the ports with the fault. All processes get them. */
  spoil(system: PlanningSystem, table: Table): PlanningSystem
  /** How the faulty API accepts a worker's report of the end of its run. */
  readonly finish?: typeof finishOverHttp
}
