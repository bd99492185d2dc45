import type { Claimer } from '../../core/run/claim.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { isInvocation } from '../../core/worker/worker.ts'
import type { System } from '../kernel/system.ts'
import { processMemory } from '../kernel/timed-cache.ts'
import type { Position } from '../ready/ready.ts'

/**
 * A call that claims examines a bounded number of tasks. More tasks than that may be at the front that its worker may not take: they
 * list a version that it lacks, or it has done its part of them. So the next call of such a worker in this process continues behind
 * the tasks that were examined, after a look at the front. It begins at the front alone again when it has come to the end of the line.
 *
 * The position is kept in memory only: it costs no unit, and a process that ends loses no more than its progress.
 */
type Continued = { readonly position: Position; readonly since: number }

/** How a call ended: it examined as many tasks as it may, it came to the end of the line, or anything else, such as a full answer. */
export type ReadEnd = 'examined-all-it-may' | 'at-end' | 'otherwise'

/** Calls that find tasks behind a position use it this long. Then tasks before it, which may have become claimable, have a turn. */
const CONTINUED_MS = 60_000
const WORKERS_MAX = 1_000

const memoryOf = processMemory(() => new Map<string, Continued>())

/** Where a call of the claimer for these types continues; undefined at the front. */
export function continuedAt(
  { tasks }: Pick<System, 'tasks'>,
  types: readonly TaskType[],
  claimer: Claimer,
): Position | undefined {
  return memoryOf(tasks).get(nameOf(types, claimer))?.position
}

/** Remembers where the next call continues, after a call that read up to `position`. */
export function rememberRead(
  { tasks, clock }: Pick<System, 'tasks' | 'clock'>,
  types: readonly TaskType[],
  claimer: Claimer,
  { end, position }: { readonly end: ReadEnd; readonly position: Position },
): void {
  const memory = memoryOf(tasks)
  const name = nameOf(types, claimer)
  const since = memory.get(name)?.since ?? clock.now()
  if (end === 'examined-all-it-may') memory.set(name, { position, since: clock.now() })
  else if (end === 'at-end' || clock.now() - since >= CONTINUED_MS) memory.delete(name)
  const [oldest] = memory.keys()
  if (memory.size > WORKERS_MAX && oldest !== undefined) memory.delete(oldest)
}

/** Invocations of one function may take the same tasks, so they continue each other's reads. */
function nameOf(types: readonly TaskType[], { workerId }: Claimer): string {
  return JSON.stringify([isInvocation(workerId) ? '' : workerId, ...types.map(({ type }) => type)])
}
