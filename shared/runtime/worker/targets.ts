import { isItemFault } from '../../core/errors.ts'
import type { Task } from '../../core/task/task.ts'
import { type Planned, planned } from '../../core/wake/plan.ts'
import type { Marker } from '../../core/worker/worker.ts'
import type { Chance } from '../../ports/machine.ts'
import { failureOf, type PlanFailure } from '../kernel/isolate-faults.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'

/**
 * A targeted task lists `workerIds`. It is never sent to its type's queue, where most receivers would refuse
 * it, nor put into the ready place of an HTTP type, where other workers would read past it. When it is due,
 * each worker that may still take it gets a marker in a partition of its own. A worker with free capacity reads
 * its markers about once a second.
 */

const WRITES_AT_ONCE_MAX = 25
/** One call checks at most this many markers: twenty requests, half a read unit per marker. */
const CHECKED_MARKERS_MAX = 2_000

/** Writes the markers that the plans ask for, one per task and worker. Returns the tasks that could not be marked. */
export async function markTargets(
  system: Pick<System, 'targets'>,
  all: readonly Planned<Task>[],
): Promise<PlanFailure[]> {
  const failures = await sideBySide(all.flatMap(markersOf), WRITES_AT_ONCE_MAX, async marker => {
    try {
      await system.targets.mark(marker)
      return []
    } catch (error) {
      return [failureOf(marker.taskId, error, !isItemFault(error))]
    }
  })
  return failures.flat()
}

function markersOf({ head, plan }: Planned<Task>): Marker[] {
  const { id: taskId, born, revision } = head
  return (plan.markFor ?? []).map(workerId => ({ workerId, taskId, born, revision }))
}

/**
 * The tasks that lack a marker they should have, because the planner's or the waker's work got lost. Of more
 * than 2,000 markers it checks 2,000 from a random one on, so that over the rounds all are checked.
 */
export async function tasksWithoutMarkers(system: System, tasks: readonly Task[]): Promise<Task[]> {
  const now = system.clock.now()
  const expected = sampleOf(
    tasks.flatMap(task => markersOf(planned(task, now))),
    system.chance,
  )
  const stored = await system.targets.among(expected)
  const births = new Map(stored.map(marker => [nameOf(marker), marker.born]))
  const missing = expected.filter(marker => births.get(nameOf(marker)) !== marker.born)
  const ids = new Set(missing.map(({ taskId }) => taskId))
  return tasks.filter(({ id }) => ids.has(id))
}

function sampleOf(markers: readonly Marker[], { fraction }: Chance): readonly Marker[] {
  if (markers.length <= CHECKED_MARKERS_MAX) return markers
  const start = Math.floor(markers.length * fraction())
  return [...markers.slice(start), ...markers.slice(0, start)].slice(0, CHECKED_MARKERS_MAX)
}

function nameOf({ workerId, taskId }: Marker): string {
  return JSON.stringify([workerId, taskId])
}
