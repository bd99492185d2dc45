import { z } from 'zod'
import type { Task } from '../../../shared/core/task/task.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import type { TaskContext } from '../../../shared/define/definitions.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { type ReceivedDispatch, serveDispatches } from '../../../shared/runtime/dispatch/serve-dispatches.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { cachedTypeReader } from '../../../shared/runtime/types/type-cache.ts'
import { wakeTasks } from '../../../shared/runtime/wake.ts'
import { HOUR, MINUTE } from '../tasks/a-task.ts'
import { type MemorySystem, timed } from './memory-system.ts'

type Serving = {
  readonly run?: (context: TaskContext) => unknown
  /** The system as the function reaches it. */
  readonly on?: System
  readonly stopAt?: number
  readonly aborting?: AbortSignal
}

/** Serves a batch of dispatches, while the clock moves on. Returns the ids of the messages that are delivered again. */
export function servedDispatches(
  system: MemorySystem,
  received: readonly ReceivedDispatch[],
  { run = () => 'done', on = system, stopAt = system.clock.now() + HOUR, aborting }: Serving = {},
): Promise<string[]> {
  const definition = defineTask('resize', { input: z.unknown(), run: (_input, context) => run(context) })
  const tools = { definition, typeOf: cachedTypeReader(on), stopAt, ...(aborting && { aborting }) }
  return timed(system, serveDispatches(on, received, { workerId: 'lambda-1' }, tools))
}

/** The task after a run whose worker died, due again. */
export async function afterLostRun(system: MemorySystem, seen: Task): Promise<Task> {
  await claimTask(system, seen, { workerId: 'lambda-0' })
  await system.clock.advance(MINUTE)
  const { id, born } = seen
  await wakeTasks(system, [{ id, born, revision: 0, hops: 0, delaySeconds: 0 }])
  const task = await readTask(system, id)
  if (task?.operation !== 'lose') throw new Error('its run was not lost')
  return task
}
