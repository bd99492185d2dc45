import type { Claimer } from '../../core/run/claim.ts'
import type { Served } from '../../core/status.ts'
import { isTakenInOrder, rulingTypes, workOf } from '../../core/task/piece.ts'
import { isTargeted, type Task } from '../../core/task/task.ts'
import { mayDoWork } from '../../core/types/other-types.ts'
import { servingType, type TaskType } from '../../core/types/task-type.ts'
import { invocationWorkerId, type Worker } from '../../core/worker.ts'
import type { HoldingLimit } from '../limits/limit-usage.ts'

/** Reads types and workers as they were within the last second, for answers that may lag a little. */
export type StatusReaders = {
  typeOf(type: string): Promise<TaskType | undefined>
  /** The workers that show signs of life. */
  liveWorkers(): Promise<readonly Worker[]>
  /** The limit that allows no start of the task now, if there is one. */
  limitHolding(task: Task): Promise<HoldingLimit | undefined>
}

/** The answer for a task that has ended or runs. No type and no worker decides the reason for its status. */
const NOT_NEEDED: Served = { hasHandler: true, liveWorkers: [], isPaused: false }

/**
 * Reads which workers and which rules decide the task's waiting reason. This is needed only for a task that is open and does not run. Types
 * and workers are cached for a second, so a page of a list reads each type once and the workers once.
 */
export async function readServed(readers: StatusReaders, task: Task): Promise<Served> {
  const { typeOf, liveWorkers } = readers
  const { state, live } = task
  if (state !== 'open' || Object.keys(live).length > 0) return NOT_NEEDED
  const { type, kind } = workOf(task)
  const serving = servingType(type, kind)
  const deployed = kind === 'http' ? undefined : await typeOf(serving)
  const isByLambda = deployed?.handlerSince !== undefined && deployed.servedBy !== 'workers'
  const isNeeded = isTargeted(task) || kind === 'http' || deployed?.servedBy === 'workers'
  const workers: readonly Worker[] = isNeeded ? await liveWorkers() : []
  return {
    hasHandler: kind === 'http' || deployed?.handlerSince !== undefined,
    liveWorkers: [
      ...(isTargeted(task) ? workers : workers.filter(({ types }) => types.includes(serving))),
      ...(isByLambda ? [invocationOf(deployed)] : []),
    ],
    ...(await readControls(readers, task)),
  }
}

/** Each invocation is a new worker, which has no runs of any task yet. */
function invocationOf({ handlerVersion: version }: TaskType): Claimer {
  return { workerId: invocationWorkerId('next'), ...(version !== undefined && { version }) }
}

async function readControls(
  { typeOf, limitHolding }: StatusReaders,
  task: Task,
): Promise<Pick<Served, 'isNotAllowed' | 'isPaused' | 'limitedBy'>> {
  const types = await Promise.all(rulingTypes(task).map(typeOf))
  // A dispatched task behind a limit with a key is in the line of the limit, as its head says.
  const mayWaitUnrecorded = types.some(type => {
    const { rate, concurrency } = type?.configuration.limits ?? {}
    return [rate, concurrency].some(limit => limit && (limit.key === undefined || isTakenInOrder(task)))
  })
  const holding = mayWaitUnrecorded && !task.wait ? await limitHolding(task) : undefined
  const isNotAllowed = !mayDoWork(task, types)
  return { isNotAllowed, isPaused: types.some(type => type?.paused), limitedBy: holding?.reason }
}
