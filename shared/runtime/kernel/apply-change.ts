import type { Change } from '../../core/change/change.ts'
import type { Applied } from '../../ports/stores.ts'
import { tellRunEnds } from '../events/tell-run-ends.ts'
import { inTurn, notInTurn } from '../fair/fair.ts'
import { withLivingBodies } from './living-bodies.ts'
import type { System } from './system.ts'

/**
 * Writes a change with what only the shell can say of it: its bodies live as long as the head relies on them, and a task
 * that enters the line of its tenants has a turn. Runs that it ended are logged. Every transition is written here.
 */
export async function applyChange(system: System, change: Change): Promise<Applied> {
  const ready = await inTurn(system, await withLivingBodies(system.tasks, change))
  const applied = await system.tasks.apply(ready)
  if (applied.applied) tellRunEnds(system, ready)
  else notInTurn(system, ready)
  return applied
}
