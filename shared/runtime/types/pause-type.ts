import { type Expected, isStale } from '../../core/change/change.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'
import { changeType } from './change-type.ts'
import { startJob } from './start-job.ts'
import { forgetType, PAUSE_ACK_MS } from './type-cache.ts'

/** An index may show a waiting task late, so a second pass follows after this time. */
const SECOND_PASS_S = 5

export type PauseOutcome =
  | { readonly ok: true; readonly type: TaskType }
  | { readonly ok: false; readonly reason: 'unknown' }
  /** A person has changed the type since the caller read it. */
  | { readonly ok: false; readonly reason: 'stale'; readonly type: TaskType }

/** Pauses a type; returns when no task of it can start any more. Runs go on. */
export async function pauseType(
  system: System,
  name: string,
  expected: Expected = {},
): Promise<PauseOutcome> {
  const outcome = await setPaused(system, name, true, expected)
  if (!outcome.ok) return outcome
  // A repeated pause waits as well: the caller may repeat it because the first answer was lost.
  await system.clock.sleep(PAUSE_ACK_MS)
  return outcome
}

/** Ends a pause: waiting tasks are sent to their workers again, in order. */
export async function resumeType(
  system: System,
  name: string,
  expected: Expected = {},
): Promise<PauseOutcome> {
  const outcome = await setPaused(system, name, false, expected)
  if (!outcome.ok) return outcome
  const resumed = outcome.type
  // A worker that still knows the pause would drop what is sent.
  await system.clock.sleep(PAUSE_ACK_MS)
  for (const type of [resumed, ...(await flowsWithStepsOf(system, name))]) {
    await startJob(system, type, { kind: 'resume' })
    await startJob(system, type, { kind: 'resume' }, SECOND_PASS_S)
  }
  return outcome
}

async function setPaused(
  system: System,
  name: string,
  paused: boolean,
  expected: Expected,
): Promise<PauseOutcome> {
  const { before, after } = await changeType(system, name, stored =>
    stored && stored.paused !== paused && !isStale(stored, expected)
      ? { ...stored, paused, operator: system.operator }
      : undefined,
  )
  forgetType(system, name)
  if (!before) return { ok: false, reason: 'unknown' }
  if (isStale(before, expected)) return { ok: false, reason: 'stale', type: before }
  return { ok: true, type: after ?? before }
}

/**
 * The flow types with steps of a type: tasks of a flow stand in the index of the flow's own type, whichever
 * types do their steps.
 */
export async function flowsWithStepsOf({ types }: Pick<System, 'types'>, name: string): Promise<TaskType[]> {
  const uses = ({ configuration: { steps = [] } }: TaskType) =>
    steps.some(({ do: doing, undo }) => doing.type === name || undo?.type === name)
  return (await types.list()).filter(uses)
}
