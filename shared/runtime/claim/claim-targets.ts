import { byClaimOrder } from '../../core/place/place.ts'
import { markerCursorRecord } from '../../core/record-names.ts'
import { type Claimer, type ClaimJudgement, judgeClaim, wouldWrite } from '../../core/run/claim.ts'
import { splitTaskId, type Task } from '../../core/task/task.ts'
import { isItemFault } from '../../core/values/values.ts'
import { awaitedWorkers, MARKER_LIFE_MS, type Marker } from '../../core/worker.ts'
import type { MarkerPage } from '../../ports/stores.ts'
import { readTask, sideBySide } from '../kernel/heads.ts'
import { logFields } from '../kernel/log-run-ends.ts'
import type { System } from '../kernel/system.ts'
import { claimTask } from './claim.ts'
import type { Claimed } from './claimed-task.ts'

/** Claims tasks that list `workerIds`. Their workers find them by markers: see `core/worker.ts`. */

/** One round reads at most this many markers, of some 100 bytes each, and as many heads, at a read unit each. */
const MARKERS_MAX = 100
const CURSOR_LIFE_MS = MARKER_LIFE_MS
const CONCURRENT_REQUESTS_MAX = 25

/** A task that a worker may claim now, as judged, with the marker that names it. */
export type Target = { readonly task: Task; readonly marker: Marker; readonly judged: ClaimJudgement }

/** Claims up to `limit` tasks of `types` that list the claimer, each type's tasks in their order. Costs one read when there are none. */
export async function claimTargets(
  system: System,
  claimer: Claimer,
  types: readonly string[],
  limit: number,
): Promise<Claimed[]> {
  const targets = (await findTargets(system, claimer, types)).slice(0, limit)
  const results = await sideBySide(targets, CONCURRENT_REQUESTS_MAX, async ({ task, judged }) => {
    try {
      return await claimTask(system, task, claimer, { judged })
    } catch (error) {
      system.log.warn('a targeted task could not be claimed yet', { ...logFields(task), error })
      return undefined
    }
  })
  const claimed = results.flatMap(result => (result && 'run' in result ? result : []))
  await clearClaimed(system, targets, claimed)
  return claimed
}

/** The due tasks of `types` that the claimer's markers name and that it may claim. Clears the spent markers. */
export async function findTargets(
  system: System,
  claimer: Claimer,
  types: readonly string[],
): Promise<Target[]> {
  const markers = await markersToLookAt(system, claimer.workerId, types)
  const now = system.clock.now()
  const found: Target[] = []
  await sideBySide(markers, CONCURRENT_REQUESTS_MAX, async marker => {
    const task = await readMarked(system, marker.taskId)
    const judged = task && judgeClaim(task, claimer, now)
    if (judged && wouldWrite(judged)) found.push({ task: judged.task, marker, judged })
    else if (isSpent(marker, task)) await clear(system, marker)
  })
  return found.sort((a, b) => byClaimOrder(a.task, b.task))
}

/** Reads the head. A task that cannot be read counts as gone, so its marker is cleared. */
async function readMarked(system: System, taskId: string): Promise<Task | undefined> {
  try {
    return await readTask(system, taskId)
  } catch (error) {
    if (!isItemFault(error)) throw error
    system.log.error('a task that a marker names cannot be read', { taskId, error })
    return undefined
  }
}

/**
 * The markers to examine now. Few markers are all read by one request. Of many, a part is read for each type, and each
 * call continues where the last one ended.
 */
async function markersToLookAt(
  system: System,
  workerId: string,
  types: readonly string[],
): Promise<readonly Marker[]> {
  const [only, ...others] = types
  const isOne = only !== undefined && others.length === 0
  const first = await system.targets.of(workerId, { limit: MARKERS_MAX, ...(isOne && { type: only }) })
  if (first.next === undefined) {
    return first.markers.filter(({ taskId }) => types.includes(splitTaskId(taskId)?.type ?? ''))
  }
  if (isOne) return nextPage(system, { workerId, type: only, limit: MARKERS_MAX }, first)
  const limit = Math.ceil(MARKERS_MAX / types.length)
  const pages = await sideBySide(types, CONCURRENT_REQUESTS_MAX, async type => {
    const ofType = await system.targets.of(workerId, { type, limit })
    return nextPage(system, { workerId, type, limit }, ofType)
  })
  return pages.flat()
}

/** The page after the last one that any process with this worker id has read. So each marker is reached in the end. */
async function nextPage(
  { targets, records, clock }: System,
  { workerId, type, limit }: { readonly workerId: string; readonly type: string; readonly limit: number },
  first: MarkerPage,
): Promise<readonly Marker[]> {
  if (first.next === undefined) return first.markers
  const cursor = markerCursorRecord(workerId, type)
  const after = await records.get(cursor)
  const page = typeof after === 'string' ? await targets.of(workerId, { type, after, limit }) : first
  await records.put(cursor, page.next ?? null, clock.now() + CURSOR_LIFE_MS)
  return page.markers.length > 0 ? page.markers : first.markers
}

/**
 * Whether the marker is spent: the task no longer waits for this worker. If it waits again later, the planner sets a new
 * marker. A task that is not due yet, or needs a newer worker, keeps its marker.
 */
function isSpent({ workerId, born }: Marker, task: Task | undefined): boolean {
  return task?.born !== born || !awaitedWorkers(task).includes(workerId)
}

/** Clears the markers of the tasks that were claimed. */
export async function clearClaimed(
  system: System,
  targets: readonly Target[],
  claimed: readonly Claimed[],
): Promise<void> {
  const ids = new Set(claimed.map(({ task }) => task.id))
  const spent = targets.filter(({ task }) => ids.has(task.id))
  await sideBySide(spent, CONCURRENT_REQUESTS_MAX, ({ marker }) => clear(system, marker))
}

/** Clears a marker. One that could not be cleared is found again, and cleared then. */
async function clear(system: System, marker: Marker): Promise<void> {
  await system.targets.clear(marker).catch(error => {
    system.log.debug('a marker was left', { taskId: marker.taskId, error })
  })
}
