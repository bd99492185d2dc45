import { LOOK_SLACK_MS, MESSAGE_LIFE_MS } from '../../core/bounds.ts'
import { plan } from '../../core/plan/plan.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { isolateEach } from '../kernel/isolate-faults.ts'
import type { PlanningSystem } from '../kernel/system.ts'
import { isBehindLine } from '../limits/line.ts'
import type { StateReader } from '../types/serving-states.ts'
import { tasksWithoutMarkers } from '../worker/targets.ts'
import type { SweepCandidate } from './sweep-passes.ts'

/** A message may be this late. Only a task that became due, and was last changed, longer ago may have lost its message. */
export const GRACE_MS = 10_000

/**
 * A waiting task is sent again for certain up to this age, and until two passes have read it. After that it is sent
 * ever more rarely, because its message probably just waits. A task that no worker can claim, for example because
 * its handler does not start, must not multiply messages.
 */
const RESEND_CERTAIN_MS = 120_000

/** Behind a backlog a task is first sent again at this age, once one pass has read it. */
const RESEND_BEHIND_BACKLOG_MS = 600_000

/**
 * Where the queue is empty, the sweeper sends a waiting task at least at every tenth reading, on average. It reads
 * the task every minute while one round can read all waiting tasks. So a task that all present workers refuse (too
 * old a version, or their part done) finds a new worker within some ten minutes. The price per task and ten minutes
 * is one message, which refusing workers return to the queue up to ten times.
 */
const RESEND_SHARE_MIN = 0.1

/** The tasks that should have been looked at or marked, and were not. */
export async function lostTasks(
  system: PlanningSystem,
  candidates: readonly SweepCandidate[],
  { stateOf, paused }: { readonly stateOf: StateReader; readonly paused: ReadonlySet<string> },
  sweptSince: number,
): Promise<Task[]> {
  const now = system.clock.now()
  const quiet = candidates.filter(({ task }) => task.updatedAt <= now - GRACE_MS)
  const judged = await isolateEach(
    system,
    quiet,
    quiet.length,
    async ({ task, unreadSince, readOnceSince }) => {
      const { type, kind } = workOf(task)
      const { backlog, handlerSince } = await stateOf(type, kind)
      // A pause drops dispatches, and its end sends them again.
      const isPaused = paused.has(type) || paused.has(task.type)
      // Looks at the line of a limit send the tickets of the tasks behind it.
      const isDispatched = !isPaused && !(await isBehindLine(system, task))
      const state = {
        backlog: isDispatched ? backlog : undefined,
        waitingSince: Math.max(handlerSince, sweptSince),
        unreadMs: now - unreadSince,
        readOnceMs: now - readOnceSince,
      }
      return { task, isTaskLost: isLost(task, state, now, system.chance.fraction()) }
    },
  )
  const lost = judged.filter(({ isTaskLost }) => isTaskLost).map(({ task }) => task)
  const due = judged.map(({ task }) => task).filter(({ dueAt }) => dueAt <= now - GRACE_MS)
  return [...new Set([...lost, ...(await tasksWithoutMarkers(system, due))])]
}

type WaitTimes = {
  readonly backlog: number | undefined
  readonly waitingSince: number
  /** A task that has waited no longer than this may not have been read by an earlier pass. */
  readonly unreadMs: number
  /** A task that has waited no longer than this may have been read by only one earlier pass, or by none. */
  readonly readOnceMs: number
}

/**
 * Whether the task should have been looked at and was not, so that its messages are worth sending again. Without
 * a `backlog`, no handler is deployed or a type is paused, so nothing can be dispatched. `chance` is 0 to 1.
 */
function isLost(
  task: Task,
  { backlog, waitingSince, unreadMs, readOnceMs }: WaitTimes,
  now: number,
  chance: number,
): boolean {
  const { dispatchAt, lookAt, publishesCallbacks } = plan(task, now)
  if (publishesCallbacks) return true
  if (lookAt !== undefined && lookAt + LOOK_SLACK_MS < now - GRACE_MS) return true
  if (dispatchAt === undefined || task.dueAt > now - GRACE_MS || backlog === undefined) return false
  const age = now - Math.max(task.dueAt, task.updatedAt, waitingSince)
  if (age > MESSAGE_LIFE_MS) return true
  if (backlog === 0) return age <= readOnceMs || chance < Math.max(RESEND_SHARE_MIN, RESEND_CERTAIN_MS / age)
  // A pass that read the task before this age left it waiting.
  const isUnread = age <= RESEND_BEHIND_BACKLOG_MS + unreadMs
  return age >= RESEND_BEHIND_BACKLOG_MS && (isUnread || chance < RESEND_BEHIND_BACKLOG_MS / age)
}
