import { followTypes, type PresentTypes, typesFollowed } from '../../core/operate/follow-types.ts'
import type { Task } from '../../core/task/task.ts'
import { isolateEach } from '../kernel/isolate-faults.ts'
import { ofSameBirth, transact } from '../kernel/kernel.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { batchTypeReader } from './type-cache.ts'

const READS_AT_ONCE_MAX = 25
const CHANGES_AT_ONCE_MAX = 25

/** Brings the tasks to the present kinds and orders of their types, read anew, because these may have changed again. */
export async function followPresentTypes(system: System, tasks: readonly Task[]): Promise<void> {
  const names = [...new Set(tasks.flatMap(typesFollowed))]
  const found = await sideBySide(names, READS_AT_ONCE_MAX, batchTypeReader(system))
  const types = new Map(found.flatMap(type => (type ? [[type.type, type]] : [])))
  await followEach(system, tasks, types)
}

/** Brings the tasks to these types. Each is decided on as it is now, but never another birth. Returns how many had to change. */
export async function followEach(
  system: System,
  tasks: readonly Task[],
  types: PresentTypes,
): Promise<number> {
  const judged = await isolateEach(system, tasks, CHANGES_AT_ONCE_MAX, async task =>
    followTypes(task, types, system.clock.now()).ok ? [task] : [],
  )
  const outdated = judged.flat()
  await isolateEach(system, outdated, CHANGES_AT_ONCE_MAX, seen =>
    transact(
      system,
      seen,
      ofSameBirth(seen, task => followTypes(task, types, system.clock.now())),
    ),
  )
  return outdated.length
}
