import { type Change, isOfTask } from '../../../shared/core/change.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'

type Applied =
  | { readonly applied: true; readonly head: Task }
  | { readonly applied: false; readonly current: Task | undefined }

export type ApplyTask = (change: Change<Task>) => Promise<Applied>

/** The system whose writes of tasks are spoilt. Canvases and schedules are written as they are. */
export function withTaskWrites(
  system: PlanningSystem,
  spoilt: (apply: ApplyTask) => ApplyTask,
): PlanningSystem {
  const { apply } = system.tasks
  const spoiltApply = spoilt(apply as ApplyTask)
  return {
    ...system,
    tasks: { ...system.tasks, apply: change => (isOfTask(change) ? spoiltApply(change) : apply(change)) },
  }
}
