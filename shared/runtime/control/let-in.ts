import { unblock } from '../../core/control/wait.ts'
import { limitPlace } from '../../core/place.ts'
import type { Task } from '../../core/task.ts'
import { orderingOf } from '../../core/task-type.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import { readyTasks } from '../ready-tasks.ts'
import type { System } from '../system.ts'
import { cachedTypes } from '../type-cache.ts'

const PAGE = 100
/** Entries read beyond those that are wanted: some will have been let in already. */
const SPARE = 10
/** The index shows those for a while who have been let in already; so many entries in a row are passed over at most. */
const MOST_EXAMINED = 1_000

/** How many were let in, and whether anybody waits or has waited. */
export type LetIn = { readonly count: number; readonly isWaitedFor: boolean }

/**
 * Lets up to `room` of those in who wait, the first in the limit's place: their wait is ended, which dispatches them, marks
 * them for their workers, or has them stand in their ready place again. One that nobody can run now so keeps nobody
 * behind it. Several may do this at once: whoever ends a wait has let that task in. Who comes too late for the permit waits anew.
 */
export async function letIn(system: System, limit: string, room: number): Promise<LetIn> {
  const waiting = waitingIn(system, limit, Math.min(PAGE, room + SPARE))
  let count = 0
  let isWaitedFor = false
  for await (const tasks of waiting) {
    isWaitedFor = true
    for (let rest = tasks; rest.length > 0 && count < room; ) {
      const chosen = rest.slice(0, room - count)
      rest = rest.slice(chosen.length)
      count += await endWaits(system, chosen)
    }
    if (count >= room) return { count, isWaitedFor }
  }
  const ready = await readyBeside(system, limit, room - count)
  await dispatch(system, ready)
  return { count: count + ready.length, isWaitedFor: isWaitedFor || ready.length > 0 }
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
  const ended = await Promise.all(
    tasks.map(async task => {
      const decision = unblock(task, now)
      return decision.ok && (await system.tasks.apply(decision.change)).applied
    }),
  )
  return ended.filter(Boolean).length
}

/**
 * Where tasks are taken in order, and one limit is for all of them, some wait in their ready places: their dispatches were
 * spent on others that waited for a permit already.
 */
async function readyBeside(system: System, limit: string, count: number): Promise<Task[]> {
  if (count <= 0) return []
  const type = await cachedTypes(system)(limit)
  if (!type || type.configuration.kind === 'http') return []
  if (orderingOf(type) === 'arrival' && !type.isFair) return []
  return (await readyTasks(system, [type], count).next(count)).filter(({ wait }) => wait === undefined)
}

async function dispatch(system: System, tasks: readonly Task[]): Promise<void> {
  if (tasks.length === 0) return
  const failures = await system.messages.dispatch(tasks.map(task => ({ task, delaySeconds: 0 })))
  if (failures[0]) throw new Error(`${failures.length} tasks were not let in: ${failures[0].reason}`)
}
