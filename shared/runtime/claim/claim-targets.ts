import { isItemFault } from '../../core/errors.ts'
import { byClaimOrder } from '../../core/place/place.ts'
import type { Claimer } from '../../core/run/claim.ts'
import { splitTaskId, type Task } from '../../core/task/task.ts'
import { awaitedWorkers } from '../../core/worker/targeted.ts'
import { MARKER_LIFE_MS, type Marker } from '../../core/worker/worker.ts'
import type { MarkerPage } from '../../ports/stores.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import { type Claimed, claimTask, claimWouldWrite } from './claim.ts'

/** Claims of tasks that list `workerIds`, which their workers find by markers: see `worker/targets.ts`. */

/** Markers read at a time, some 100 bytes each, and heads looked at in one round, at a read unit each. */
const MOST_LOOKED_AT = 100
const CURSOR_LIFE_MS = MARKER_LIFE_MS
const MOST_AT_ONCE = 25

/** A task that a worker may take now, with the marker that told it so. */
export type Target = { readonly task: Task; readonly marker: Marker }

/**
 * Claims up to `limit` tasks of `types` that are meant for the claimer, each type's in its order. Costs one read while
 * there are none.
 */
export async function claimTargets(
  system: System,
  claimer: Claimer,
  types: readonly string[],
  limit: number,
): Promise<Claimed[]> {
  const targets = (await findTargets(system, claimer, types)).slice(0, limit)
  const results = await sideBySide(targets, MOST_AT_ONCE, async ({ task }) => {
    try {
      return await claimTask(system, task, claimer)
    } catch (error) {
      system.log.warn('a targeted task could not be claimed yet', { ...logFields(task), error })
      return undefined
    }
  })
  const claimed = results.flatMap(result => (result && 'run' in result ? result : []))
  await clearClaimed(system, targets, claimed)
  return claimed
}

/** The due tasks of `types` that the claimer's markers name and it may take; markers that are spent are cleared. */
export async function findTargets(
  system: System,
  claimer: Claimer,
  types: readonly string[],
): Promise<Target[]> {
  const markers = await markersToLookAt(system, claimer.workerId, types)
  const now = system.clock.now()
  const found: Target[] = []
  await sideBySide(markers, MOST_AT_ONCE, async marker => {
    const task = await readable(system, marker.taskId)
    if (task && claimWouldWrite(task, claimer, now)) found.push({ task, marker })
    else if (isSpent(marker, task)) await clear(system, marker)
  })
  return found.sort((a, b) => byClaimOrder(a.task, b.task))
}

/** A task that cannot be read is as good as gone for its workers: its marker is cleared. */
async function readable({ tasks, log }: System, taskId: string): Promise<Task | undefined> {
  try {
    return await tasks.head(taskId)
  } catch (error) {
    if (!isItemFault(error)) throw error
    log.error('a task that a marker names cannot be read', { taskId, error })
    return undefined
  }
}

/** All of a worker's markers, of many some for each type: each time those that follow. One request while they are few. */
async function markersToLookAt(
  system: System,
  workerId: string,
  types: readonly string[],
): Promise<readonly Marker[]> {
  const [only, ...others] = types
  const isOne = only !== undefined && others.length === 0
  const first = await system.targets.of(workerId, { limit: MOST_LOOKED_AT, ...(isOne && { type: only }) })
  if (first.next === undefined) {
    return first.markers.filter(({ taskId }) => types.includes(splitTaskId(taskId)?.type ?? ''))
  }
  if (isOne) return nextPage(system, { workerId, type: only, limit: MOST_LOOKED_AT }, first)
  const limit = Math.ceil(MOST_LOOKED_AT / types.length)
  const pages = await sideBySide(types, MOST_AT_ONCE, async type => {
    const ofType = await system.targets.of(workerId, { type, limit })
    return nextPage(system, { workerId, type, limit }, ofType)
  })
  return pages.flat()
}

/** Goes on where the last call of anybody with this worker id stopped, so that no marker stands behind others for ever. */
async function nextPage(
  { targets, records, clock }: System,
  { workerId, type, limit }: { readonly workerId: string; readonly type: string; readonly limit: number },
  first: MarkerPage,
): Promise<readonly Marker[]> {
  if (first.next === undefined) return first.markers
  const cursor = `targets#${JSON.stringify([workerId, type])}`
  const after = await records.get(cursor)
  const page = typeof after === 'string' ? await targets.of(workerId, { type, after, limit }) : first
  await records.put(cursor, page.next ?? null, clock.now() + CURSOR_LIFE_MS)
  return page.markers.length > 0 ? page.markers : first.markers
}

/**
 * Whether the marker has done its duty: the task waits for this worker no more. If it ever does again, that is a change,
 * and is planned. One that is only not due yet, or asks for a newer worker, keeps its marker.
 */
function isSpent({ workerId, born }: Marker, task: Task | undefined): boolean {
  return task?.born !== born || !awaitedWorkers(task).includes(workerId)
}

/** A worker that holds a task waits for it no more. */
export async function clearClaimed(
  system: System,
  targets: readonly Target[],
  claimed: readonly Claimed[],
): Promise<void> {
  const ids = new Set(claimed.map(({ task }) => task.id))
  const spent = targets.filter(({ task }) => ids.has(task.id))
  await sideBySide(spent, MOST_AT_ONCE, ({ marker }) => clear(system, marker))
}

/** A marker that stays is found again and cleared then. */
async function clear(system: System, marker: Marker): Promise<void> {
  await system.targets.clear(marker).catch(error => {
    system.log.debug('a marker was left', { taskId: marker.taskId, error })
  })
}
