import type { Change } from '../../core/change/change.ts'
import type { Head } from '../../core/task/head.ts'
import type { Applied } from '../../ports/stores.ts'
import { withLivingBodies } from './living-bodies.ts'
import { logRunEnds } from './log-run-ends.ts'
import type { System } from './system.ts'

/**
 * Writes one change of a head. Every transition is written by this function. Before the write it renews the bodies that
 * the head relies on, and each change hook adds its part. After the write it logs the runs that the change has ended.
 *
 * `held` is the head that the writer held. It differs from `change.before` when the change begins with another head.
 */
export async function applyChange(
  system: System,
  change: Change,
  held: Head | undefined = change.before,
): Promise<Applied> {
  const ready = await preparedChange(system, await withLivingBodies(system.tasks, change))
  const applied = await system.tasks.apply(ready)
  if (!applied.applied) {
    for (const { refused } of system.changeHooks) refused?.(system, ready)
    return applied
  }
  logRunEnds(system, ready)
  for (const { written } of system.changeHooks) if (written) await written(system, held, change.after)
  return applied
}

/** The change with the parts that the change hooks add before a write. */
export async function preparedChange<H extends Head>(system: System, change: Change<H>): Promise<Change<H>> {
  let ready: Change = change
  for (const { prepare } of system.changeHooks) if (prepare) ready = await prepare(system, ready)
  // A hook adds to the head, and never changes its kind.
  return ready as Change<H>
}
