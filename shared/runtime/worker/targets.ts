import { isItemFault } from '../../core/errors.ts'
import { plan } from '../../core/plan/plan.ts'
import type { Task } from '../../core/task/task.ts'
import type { Marker } from '../../core/worker/worker.ts'
import type { Chance } from '../../ports/machine.ts'
import type { PlanFailure } from '../kernel/isolate-faults.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'

/**
 * Targeted tasks: a task that lists `workerIds` is never sent to its type's queue, where most receivers would refuse it,
 * nor to the ready place of an HTTP type, where others would read past it. When it is due, each worker that may still
 * take it gets a marker in a partition of its own, which it reads about once a second while it has room.
 */

const MOST_AT_ONCE = 25
/** Markers that one call looks for: twenty requests, half a read unit each marker. */
const MOST_CHECKED = 2_000

/** Writes the markers of what is due, one per task and worker; says which tasks could not be marked. */
export async function markTargets(
  system: Pick<System, 'targets' | 'clock'>,
  tasks: readonly Task[],
): Promise<PlanFailure[]> {
  const now = system.clock.now()
  const failures = await sideBySide(
    tasks.flatMap(task => markersOf(task, now)),
    MOST_AT_ONCE,
    async marker => {
      try {
        await system.targets.mark(marker)
        return []
      } catch (error) {
        return [{ id: marker.taskId, reason: String(error), transient: !isItemFault(error) }]
      }
    },
  )
  return failures.flat()
}

function markersOf(task: Task, now: number): Marker[] {
  const { id: taskId, born, revision } = task
  return (plan(task, now).markFor ?? []).map(workerId => ({ workerId, taskId, born, revision }))
}

/**
 * Which of the tasks lack a marker that they should have: the planner's or the waker's work got lost. Of more than 2,000
 * markers it looks for so many, from one chosen by chance on, so that over the rounds all get their turn.
 */
export async function tasksWithoutMarkers(system: System, tasks: readonly Task[]): Promise<Task[]> {
  const now = system.clock.now()
  const wanted = someOf(
    tasks.flatMap(task => markersOf(task, now)),
    system.chance,
  )
  const there = await system.targets.among(wanted)
  const births = new Map(there.map(marker => [nameOf(marker), marker.born]))
  const missing = wanted.filter(marker => births.get(nameOf(marker)) !== marker.born)
  const ids = new Set(missing.map(({ taskId }) => taskId))
  return tasks.filter(({ id }) => ids.has(id))
}

function someOf(markers: readonly Marker[], { fraction }: Chance): readonly Marker[] {
  if (markers.length <= MOST_CHECKED) return markers
  const start = Math.floor(markers.length * fraction())
  return [...markers.slice(start), ...markers.slice(0, start)].slice(0, MOST_CHECKED)
}

function nameOf({ workerId, taskId }: Marker): string {
  return JSON.stringify([workerId, taskId])
}
