import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import type { finishOverHttp } from '../../../shared/runtime/run/http-runs.ts'
import type { ScenarioKind } from '../generate/generate.ts'
import type { Table } from '../world/aws/table.ts'

/**
 * A fault that is put into a simulated system on purpose, to see that the invariants notice it: it stands between the
 * code and one of its ports, and does there what the code would do if it had the fault.
 */
export type PlantedFault = {
  /** What the system does wrong, as a sentence. */
  readonly name: string
  /** It shows only in scenarios that have this. */
  readonly needs?: ScenarioKind
  /** The ports with the fault in them; all processes have it. */
  spoil(system: PlanningSystem, table: Table): PlanningSystem
  /** How the API with the fault takes the word of a worker on the end of its run. */
  readonly finish?: typeof finishOverHttp
}
