import type { Change } from '../../core/change/change.ts'
import type { Applied } from '../../ports/stores.ts'
import { withLivingBodies } from './living-bodies.ts'
import { logRunEnds } from './log-run-ends.ts'
import type { System } from './system.ts'

/**
 * Writes a change with what only the shell can say of it: its bodies live as long as the head relies on them, and each
 * feature adds its part. Runs that it ended are logged. Every transition is written here. `held` is the head that the writer
 * held, where it is not the one that the change begins with.
 */
export async function applyChange(system: System, change: Change, held = change.before): Promise<Applied> {
  let ready = await withLivingBodies(system.tasks, change)
  for (const { prepare } of system.changeHooks) if (prepare) ready = await prepare(system, ready)
  const applied = await system.tasks.apply(ready)
  if (!applied.applied) {
    for (const { refused } of system.changeHooks) refused?.(system, ready)
    return applied
  }
  logRunEnds(system, ready)
  for (const { written } of system.changeHooks) if (written) await written(system, held, change.after)
  return applied
}
