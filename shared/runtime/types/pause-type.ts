import type { TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'
import { changeType } from './change-type.ts'
import { startJob } from './start-job.ts'
import { forgetType, PAUSE_ACK_MS } from './type-cache.ts'

/** An index may show late what waits: it is gone through once more after this. */
const SECOND_PASS_S = 5

/**
 * Pauses a type: returns when nothing of it can begin any more. What runs goes on. Undefined when there is no such type.
 */
export async function pauseType(system: System, name: string): Promise<TaskType | undefined> {
  const { before, after } = await setPaused(system, name, true)
  if (!before) return undefined
  // Waited out by whoever repeats it, too: he may have asked again because the first answer was lost.
  await system.clock.sleep(PAUSE_ACK_MS)
  return after ?? before
}

/** Ends a pause: what has waited is sent to its workers again, in order. Undefined when there is no such type. */
export async function resumeType(system: System, name: string): Promise<TaskType | undefined> {
  const { before, after } = await setPaused(system, name, false)
  if (!before) return undefined
  const resumed = after ?? before
  // Whoever has not heard of it yet would drop what is sent.
  await system.clock.sleep(PAUSE_ACK_MS)
  for (const type of [resumed, ...(await flowsWithStepsOf(system, name))]) {
    await startJob(system, type, { kind: 'resume' })
    await startJob(system, type, { kind: 'resume' }, SECOND_PASS_S)
  }
  return resumed
}

async function setPaused(system: System, name: string, paused: boolean) {
  const changed = await changeType(system, name, stored =>
    stored && stored.paused !== paused ? { ...stored, paused, operator: system.operator } : undefined,
  )
  forgetType(system, name)
  return changed
}

/** Tasks of a flow stand in the index of their own type, whoever does their steps. */
export async function flowsWithStepsOf({ types }: Pick<System, 'types'>, name: string): Promise<TaskType[]> {
  const uses = ({ configuration: { steps = [] } }: TaskType) =>
    steps.some(({ do: doing, undo }) => doing.type === name || undo?.type === name)
  return (await types.list()).filter(uses)
}
