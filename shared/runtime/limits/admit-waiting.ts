import { typeOfLimit } from '../../core/limits/limits.ts'
import { endWait } from '../../core/limits/wait.ts'
import { readyPlaceOf } from '../../core/place/place.ts'
import { limitPlace } from '../../core/place/place-names.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { isLimitedForAll, servingType, type TaskType } from '../../core/types/task-type.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import { applyChange } from '../kernel/apply-change.ts'
import { isolateEach } from '../kernel/isolate-faults.ts'
import type { System } from '../kernel/system.ts'
import { isTicket, readyTasks } from '../ready/ready.ts'
import { cachedTypeReader } from '../types/type-cache.ts'

const PAGE = 100
/** Entries read beyond those that are wanted: some will have been let in already. */
const SPARE = 10
/** The index shows those for a while who have been let in already; so many entries in a row are passed over at most. */
const MOST_EXAMINED = 1_000

/** How many waits were ended, and whether anybody waits or has waited. */
export type AdmitResult = { readonly count: number; readonly isWaitedFor: boolean }

/** The tasks that wait for permits of a limit, as far as they were read. */
export type WaitingTasks = {
  readonly limit: string
  /** The type whose limit it is, where it counts all of that type's tasks. */
  readonly type: TaskType | undefined
  /** Those in the ready places, in their order. */
  readonly ready: readonly Task[]
  /** The first page of those in the limit's place, and the pages after it. */
  readonly firstPlaced: readonly Task[] | undefined
  readonly otherPlaced: AsyncGenerator<Task[], void, undefined>
}

/** Reads the tasks that wait, enough to admit `most` of them. The ready places and the limit's place are read side by side. */
export async function readWaitingTasks(system: System, limit: string, most: number): Promise<WaitingTasks> {
  const placed = waitingIn(system, limit, Math.min(PAGE, most + SPARE))
  const [{ type, ready }, first] = await Promise.all([readyFor(system, limit, most), placed.next()])
  return { limit, type, ready, firstPlaced: first.value ?? undefined, otherPlaced: placed }
}

async function readyFor(
  system: System,
  limit: string,
  most: number,
): Promise<Pick<WaitingTasks, 'type' | 'ready'>> {
  const type = typeOfLimit(limit) === limit ? await cachedTypeReader(system)(limit) : undefined
  return { type, ready: type ? await readyUnder(system, type, Math.max(1, most)) : [] }
}

/**
 * Lets up to `room` of those in who wait. In the limit's place these are the first: their wait is ended, which dispatches
 * them, marks them for their workers, or has them stand in their ready place again. One that nobody can run now so keeps
 * nobody behind it. Several may do this at once: whoever ends a wait has let that task in. Who comes too late for the permit
 * waits anew.
 *
 * Those who wait in their ready places, where tasks are taken in order and the limit is for all of them, need a token each, and
 * over HTTP nothing. Where some wait here and some there, chance says how many of each are let in. `isRepair`: no permit
 * was given back just now, and tokens that are in the queue already are enough.
 */
export async function admitWaiting(
  system: System,
  waiting: WaitingTasks,
  { room, isRepair }: { readonly room: number; readonly isRepair: boolean },
): Promise<AdmitResult> {
  const { type, ready } = waiting
  const isIdle = ready.length === 0 || !type || !needsTickets(type)
  const isServed = isIdle || (isRepair && (await hasBacklog(system, type)))
  const sent = isServed ? [] : ready
  const share = Math.floor(system.chance.fraction() * (Math.min(room, sent.length) + 1))
  const placed = await admitFromPlace(system, waiting, room - share)
  const rest = sent.slice(0, room - placed.count)
  const count = placed.count + (type ? await sendIn(system, type, rest) : 0)
  return { count, isWaitedFor: placed.isWaitedFor || ready.length > 0 }
}

/** In a pause they are dropped, and all that is ready is sent one at its end. */
function needsTickets({ paused, configuration }: TaskType): boolean {
  return configuration.kind !== 'http' && !paused
}

async function hasBacklog({ messages }: System, { type, configuration }: TaskType): Promise<boolean> {
  return ((await messages.backlog(servingType(type, configuration.kind))) ?? 0) > 0
}

async function admitFromPlace(
  system: System,
  { firstPlaced, otherPlaced }: WaitingTasks,
  room: number,
): Promise<AdmitResult> {
  let count = 0
  for (
    let tasks = firstPlaced;
    tasks && count < room;
    tasks = (await otherPlaced.next()).value ?? undefined
  ) {
    for (let rest = tasks; rest.length > 0 && count < room; ) {
      const chosen = rest.slice(0, room - count)
      rest = rest.slice(chosen.length)
      count += await endWaits(system, chosen)
    }
  }
  return { count, isWaitedFor: firstPlaced !== undefined }
}

/** Those who wait in the limit's place, page by page; at least one of each. */
async function* waitingIn(
  system: System,
  limit: string,
  pageSize: number,
): AsyncGenerator<Task[], void, undefined> {
  let after: IndexEntry | undefined
  for (let examined = 0; examined < MOST_EXAMINED; examined += pageSize) {
    const range = { index: 'place' as const, partition: limitPlace(limit), limit: pageSize }
    const page = await system.tasks.page({ ...range, ...(after && { after }) })
    const ids = page.entries.map(({ id }) => id)
    const heads = new Map((await system.tasks.heads(ids)).map(task => [task.id, task]))
    const waiting = ids.flatMap(id => heads.get(id) ?? []).filter(task => waitsFor(task, limit))
    if (waiting.length > 0) yield waiting
    after = page.entries.at(-1)
    if (!page.more || !after) return
  }
}

function waitsFor({ wait, state }: Task, limit: string): boolean {
  return state === 'open' && wait?.kind === 'permit' && wait.limit === limit
}

/** How many waits it ended. Refused is only what somebody else has changed just now. */
async function endWaits(system: System, tasks: readonly Task[]): Promise<number> {
  const now = system.clock.now()
  const ended = await isolateEach(system, tasks, PAGE, async task => {
    const decision = endWait(task, now)
    return decision.ok && (await applyChange(system, decision.change)).applied
  })
  return ended.filter(Boolean).length
}

/** The next ones in ready places, in turns of tenants, whom the limit of their type keeps waiting. */
async function readyUnder(system: System, type: TaskType, count: number): Promise<Task[]> {
  const size = Math.min(PAGE, count + SPARE)
  const line = readyTasks(system, [type], size)
  const found: Task[] = []
  for (let examined = 0; found.length < count && examined < MOST_EXAMINED; ) {
    const tasks = await line.next(size)
    if (tasks.length === 0) break
    examined += tasks.length
    found.push(
      ...tasks.filter(task => isReady(task) && (isAdmittedByTicket(task, type) || waitsFor(task, type.type))),
    )
  }
  return found.slice(0, count)
}

/** A turn under a rate limit brings a token of its own when it comes. */
function isReady(task: Task): boolean {
  const hasTurn = task.wait?.kind === 'slot'
  return task.state === 'open' && !hasTurn && task.place?.name === readyPlaceOf(task)
}

/** Some of these do not know that they wait: their tokens were spent on others that waited already. */
function isAdmittedByTicket(task: Task, type: TaskType): boolean {
  return isLimitedForAll(type) && (workOf(task).kind === 'http' || isTicket(task, type))
}

/** How many waits it ended. */
async function sendIn(system: System, type: TaskType, tasks: readonly Task[]): Promise<number> {
  const byToken = tasks.filter(task => isAdmittedByTicket(task, type))
  const ended = await endWaits(
    system,
    tasks.filter(task => !byToken.includes(task)),
  )
  if (byToken.length === 0) return ended
  const failures = await system.messages.dispatch(byToken.map(task => ({ task, delaySeconds: 0 })))
  if (failures[0]) throw new Error(`${failures.length} tasks were not let in: ${failures[0].reason}`)
  return ended
}
