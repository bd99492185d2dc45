import { wakesAt } from '../../../shared/core/place/place.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { plan } from '../../../shared/core/wake.ts'

/** The next time the task must be looked at: due, lease end, run limit, deadline. Undefined if there is none. */
export function nextWake(task: Task, now: number): number | undefined {
  const { dispatchAt, markFor, lookAt, minute, publishesCallbacks, driveAt } = plan(task, now)
  const times = [
    dispatchAt,
    (markFor || publishesCallbacks) && now,
    lookAt,
    driveAt,
    minute === undefined ? undefined : wakesAt(task),
  ].filter(time => time !== undefined)
  return times.length > 0 ? Math.min(...times) : undefined
}
