import { purge } from '../../core/operate/purge.ts'
import type { Task } from '../../core/task/task.ts'
import type { PurgeJob } from '../../core/types/type-job.ts'
import { eachApart } from '../kernel/isolate-faults.ts'
import type { System } from '../kernel/system.ts'
import { transact } from '../kernel/transact.ts'
import { dropLastingBodies } from '../operate/drop-bodies.ts'
import { settleTask } from '../plan/publish-callbacks.ts'

const MOST_AT_ONCE = 25

/**
 * Removes those of `tasks` that the purge means; each is decided on as it stands when it is written, so that doing it
 * twice, or on a list that is out of date, is harmless. Answers how many were removed.
 */
export async function purgeTasks(system: System, job: PurgeJob, tasks: readonly Task[]): Promise<number> {
  const removed = await eachApart(system, tasks, MOST_AT_ONCE, task => purgeTask(system, job, task))
  return removed.filter(Boolean).length
}

async function purgeTask(system: System, job: PurgeJob, seen: Task): Promise<boolean> {
  if (!purge(seen, job, system.clock.now()).ok) return false
  const head = await withoutDebts(system, seen)
  const { decision } = await transact(system, head, current =>
    current?.born === seen.born && !current.owes
      ? purge(current, job, system.clock.now())
      : { ok: false as const, reason: 'not-meant' as const },
  )
  if (!decision.ok) return false
  if (decision.change.before) await dropLastingBodies(system, decision.change.before)
  return true
}

/** Callbacks of an end that happened are not lost with the record of it. */
async function withoutDebts(system: System, seen: Task): Promise<Task | undefined> {
  if (!seen.owes) return seen
  await settleTask(system, seen)
  return system.tasks.head(seen.id)
}
