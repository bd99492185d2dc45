import { typeOfLimit } from '../../core/limits/limits.ts'
import { readyPlaceOf } from '../../core/place/place.ts'
import { limitPlace } from '../../core/place/place-names.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { isLimitedForAll, servingType, type TaskType } from '../../core/types/task-type.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import { isolateEach } from '../kernel/isolate-faults.ts'
import { readTasksInOrder } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'
import { isTicket, readyTasks } from '../ready/ready.ts'
import { cachedTypeReader } from '../types/type-cache.ts'
import { endWaitOf } from './written-wait.ts'

/**
 * Admits tasks that wait for permits of a concurrency limit. They wait in one of two places:
 * - in the limit's place, when a claim was refused for lack of a permit
 * - in their ready places, when the type's tasks are run in order and the limit has no key, so that it counts every task of
 *   the type
 */

const PAGE_ENTRIES = 100
/** This many index entries are read beyond those wanted, since some of the tasks have been admitted already. */
const SPARE_ENTRIES = 10
/** At most this many entries are read. For a while, the index still shows tasks that have been admitted. */
const EXAMINED_ENTRIES_MAX = 1_000

/** How many waits were ended, and whether any task waited. A ticket that was sent does not count. */
export type AdmitResult = { readonly count: number; readonly isWaitedFor: boolean }

/** The tasks that wait for permits of a limit, as far as they were read. */
export type WaitingTasks = {
  readonly limit: string
  /** The type whose limit it is. Undefined when the limit has a key. */
  readonly type: TaskType | undefined
  /** The tasks that wait in the ready places, in their order. */
  readonly ready: readonly Task[]
  /** The first page of tasks that wait in the limit's place. Undefined when none waits there. */
  readonly firstPlaced: readonly Task[] | undefined
  /** The pages after the first one. */
  readonly otherPlaced: AsyncGenerator<Task[], void, undefined>
}

/** Reads enough waiting tasks to admit up to `most`. Reads the ready places and the limit's place at the same time. */
export async function readWaitingTasks(system: System, limit: string, most: number): Promise<WaitingTasks> {
  const placed = waitingInLimitPlace(system, limit, Math.min(PAGE_ENTRIES, most + SPARE_ENTRIES))
  const [{ type, ready }, first] = await Promise.all([readReady(system, limit, most), placed.next()])
  return { limit, type, ready, firstPlaced: first.value ?? undefined, otherPlaced: placed }
}

async function readReady(
  system: System,
  limit: string,
  most: number,
): Promise<Pick<WaitingTasks, 'type' | 'ready'>> {
  const type = typeOfLimit(limit) === limit ? await cachedTypeReader(system)(limit) : undefined
  return { type, ready: type ? await waitingInReadyPlaces(system, type, Math.max(1, most)) : [] }
}

/**
 * Admits up to `free` of the waiting tasks.
 *
 * In the limit's place, the first tasks are admitted by ending their wait. That dispatches them, marks them for their
 * workers, or moves them to their ready place. Only the claim that follows takes the permit, so a task that no worker can
 * run now does not block those behind it. Several processes may admit at once: one of them ends each wait. A task whose
 * claim finds no permit left waits again.
 *
 * In the ready places, a ticket admits each task that may wait without a record; the recorded waits of the other tasks end.
 * Tasks of HTTP workers need no ticket. When tasks wait in both places, chance decides how many are admitted from each.
 * `isRepair` means that no permit was released just now; then tickets that are already in the queue are enough. `shards` are those of
 * the released permits.
 */
export async function admitWaiting(
  system: System,
  waiting: WaitingTasks,
  {
    free,
    isRepair,
    shards = [],
  }: { readonly free: number; readonly isRepair: boolean; readonly shards?: readonly number[] },
): Promise<AdmitResult> {
  const { type, ready } = waiting
  const needsNoTickets = ready.length === 0 || !type || !needsTickets(type)
  const areTicketsEnough = needsNoTickets || (isRepair && (await hasBacklog(system, type)))
  const candidates = areTicketsEnough ? [] : ready
  const readyShare = Math.floor(system.chance.fraction() * (Math.min(free, candidates.length) + 1))
  const placed = await admitFromLimitPlace(system, waiting, free - readyShare)
  const rest = candidates.slice(0, free - placed.count)
  const count = placed.count + (type ? await admitFromReadyPlaces(system, type, rest, shards) : 0)
  return { count, isWaitedFor: placed.isWaitedFor || ready.length > 0 }
}

/** Whether the type's tasks need tickets. During a pause tickets are dropped. When it ends, one is sent for each ready task. */
function needsTickets({ paused, configuration }: TaskType): boolean {
  return configuration.kind !== 'http' && !paused
}

async function hasBacklog({ messages }: System, { type, configuration }: TaskType): Promise<boolean> {
  return ((await messages.backlog(servingType(type, configuration.kind))) ?? 0) > 0
}

async function admitFromLimitPlace(
  system: System,
  { firstPlaced, otherPlaced }: WaitingTasks,
  free: number,
): Promise<AdmitResult> {
  let count = 0
  for (
    let tasks = firstPlaced;
    tasks && count < free;
    tasks = (await otherPlaced.next()).value ?? undefined
  ) {
    for (let rest = tasks; rest.length > 0 && count < free; ) {
      const chosen = rest.slice(0, free - count)
      rest = rest.slice(chosen.length)
      count += await endWaits(system, chosen)
    }
  }
  return { count, isWaitedFor: firstPlaced !== undefined }
}

/** The tasks that wait in the limit's place, page by page. No page is empty. */
async function* waitingInLimitPlace(
  system: System,
  limit: string,
  pageSize: number,
): AsyncGenerator<Task[], void, undefined> {
  let after: IndexEntry | undefined
  for (let examined = 0; examined < EXAMINED_ENTRIES_MAX; examined += pageSize) {
    const range = { index: 'place' as const, partition: limitPlace(limit), limit: pageSize }
    const page = await system.tasks.page({ ...range, ...(after && { after }) })
    const ids = page.entries.map(({ id }) => id)
    const waiting = (await readTasksInOrder(system, ids)).filter(task => waitsFor(task, limit))
    if (waiting.length > 0) yield waiting
    after = page.entries.at(-1)
    if (!page.more || !after) return
  }
}

function waitsFor({ wait, state }: Task, limit: string): boolean {
  return state === 'open' && wait?.kind === 'permit' && wait.limit === limit
}

/** Ends the waits of the tasks and returns how many it ended. A task that another process has just changed is left out. */
async function endWaits(system: System, tasks: readonly Task[]): Promise<number> {
  const ended = await isolateEach(system, tasks, PAGE_ENTRIES, task => endWaitOf(system, task))
  return ended.filter(Boolean).length
}

/** The first `count` tasks in the ready places that the limit of their type keeps waiting. Tenants take turns. */
async function waitingInReadyPlaces(system: System, type: TaskType, count: number): Promise<Task[]> {
  const size = Math.min(PAGE_ENTRIES, count + SPARE_ENTRIES)
  const waiting = readyTasks(system, [type], size)
  const found: Task[] = []
  for (let examined = 0; found.length < count && examined < EXAMINED_ENTRIES_MAX; ) {
    const tasks = await waiting.next(size)
    if (tasks.length === 0) break
    examined += tasks.length
    found.push(
      ...tasks.filter(
        task => isInReadyPlace(task) && (mayWaitUnrecorded(task, type) || waitsFor(task, type.type)),
      ),
    )
  }
  return found.slice(0, count)
}

/** Whether the task is open and in its ready place. A task that waits for a slot is left out, since a ticket is sent for its slot. */
function isInReadyPlace(task: Task): boolean {
  const waitsForSlot = task.wait?.kind === 'slot'
  return task.state === 'open' && !waitsForSlot && task.place?.name === readyPlaceOf(task)
}

/**
 * Whether the limit may keep the task waiting without any record of it, since its type is claimed in order: the ticket that
 * was sent for it was used for another task that had waited longer, or it is an HTTP task, which needs no ticket.
 */
function mayWaitUnrecorded(task: Task, type: TaskType): boolean {
  return isLimitedForAll(type) && (workOf(task).kind === 'http' || isTicket(task, type))
}

/**
 * Ends the recorded waits of the tasks, and sends tickets for the other tasks. Each ticket names the shard of a freed permit.
 * Returns how many waits it ended.
 */
async function admitFromReadyPlaces(
  system: System,
  type: TaskType,
  tasks: readonly Task[],
  shards: readonly number[],
): Promise<number> {
  const unrecorded = tasks.filter(task => mayWaitUnrecorded(task, type))
  const ended = await endWaits(
    system,
    tasks.filter(task => !unrecorded.includes(task)),
  )
  if (unrecorded.length === 0) return ended
  const dispatches = unrecorded.map((task, nth) => {
    const shard = shards[nth]
    return { task, delaySeconds: 0, ...(shard !== undefined && { freed: { limit: type.type, shard } }) }
  })
  const failures = await system.messages.dispatch(dispatches)
  if (failures[0]) throw new Error(`${failures.length} tickets could not be sent: ${failures[0].reason}`)
  return ended
}
