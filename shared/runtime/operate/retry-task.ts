import type { Expected } from '../../core/change.ts'
import { type ResumeAction, type ResumeRefusal, usualRetry } from '../../core/flow/resume.ts'
import type { Clean, RestartRefusal } from '../../core/operate/operate.ts'
import type { Task } from '../../core/task/task.ts'
import { readTask } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { isPresent, type OperateOutcome, restartTask, resumeTask, UNKNOWN } from './operate.ts'

/** The caller must name the restart: the flow has not failed, or the request names runs to forget. */
const RESTART_ONLY = 'restart-only'

/** Why a task is not tried again. */
export type RetryRefusal = RestartRefusal | ResumeRefusal | typeof RESTART_ONLY | 'stale'

type Retry = {
  readonly action?: ResumeAction | 'restart' | undefined
  readonly clean?: Clean | undefined
}

/** Tries an ended task again, by the action that the caller names or by the usual one. The task records the action. */
export async function retryTask(
  system: System,
  id: string,
  expected: Expected = {},
  { action: named, clean }: Retry = {},
): Promise<OperateOutcome<RetryRefusal>> {
  const seen = named ? undefined : await readTask(system, id)
  if (!named && !isPresent(system, seen)) return UNKNOWN
  const action = named ?? (seen && usualRetry(seen))
  if (action === undefined || (seen?.flow && clean && action !== 'restart'))
    return seen ? { ok: false, reason: RESTART_ONLY, task: seen } : UNKNOWN
  const { isStill = () => true, ...others } = expected
  const same = { ...others, isStill: (task: Task) => isStill(task) && (!seen || usualRetry(task) === action) }
  const recording = system.operator ? { ...system, operator: { ...system.operator, what: action } } : system
  return action === 'restart'
    ? restartTask(recording, id, clean, same)
    : resumeTask(recording, id, action, same)
}
