import type { Holder, LimitLook } from '../../core/control/held-permits.ts'
import { typeOfLimit } from '../../core/control/limit-names.ts'
import { unblock } from '../../core/control/wait.ts'
import { limitPlace } from '../../core/place.ts'
import type { Task } from '../../core/task.ts'
import { orderingOf } from '../../core/task-type.ts'
import { workOf } from '../../core/work.ts'
import { readyTasks } from '../ready-tasks.ts'
import type { System } from '../system.ts'
import { cachedTypes } from '../type-cache.ts'

/** Those who wait are seen to so often, whatever message gets lost. */
export const TEND_INTERVAL_S = 15
/** Who is recorded so long has claimed its task, or never will. */
const GRACE_MS = 10_000
/** An index may show late who has just begun to wait: so often in a row nobody may be found before nobody waits. */
const QUIET_ROUNDS = 2
/** Of a limit that is no more all may go on, a page at a time. */
const PAGE = 100
/** Those in front may have been let in already, and the index shows it late. */
const STALE_ENTRIES = 4

/**
 * Sees to those who wait for permits of a limit: lets as many in as there is room for. Looks that come again as long as
 * somebody waits also take out holders whose runs are over: this repairs whatever a lost message or a dead process leaves.
 * `given`: how many permits were given back.
 */
export async function tendLimit(system: System, { limit, quiet }: LimitLook, given = 1): Promise<void> {
  const max = await mostOf(system, limit)
  const { holders, waitsSince } = await system.limits.permits(limit)
  const stale = quiet === undefined ? [] : await staleHolders(system, limit, holders)
  for (const { holder } of stale) await system.limits.release(limit, holder)
  const room = max === undefined ? PAGE : max - (holders.length - stale.length)
  // One more than were given back: two looks at a time may find the same one in front.
  const isWaitedFor = await letIn(system, limit, quiet === undefined ? Math.min(room, given + 1) : room)
  if (quiet === undefined) return
  if (!isWaitedFor && quiet + 1 >= QUIET_ROUNDS) {
    if (waitsSince !== undefined) await system.limits.clearWaiting(limit, waitsSince)
    return
  }
  if (max !== undefined) await system.limits.noteWaiting(limit, system.clock.now(), max)
  const next = { limit, quiet: isWaitedFor ? 0 : quiet + 1, delaySeconds: TEND_INTERVAL_S }
  const [failure] = await system.messages.lookAtLimits([next])
  if (failure) throw new Error(`the look at ${limit} could not be sent on: ${failure.reason}`)
}

/** Those whose run is not live: it ended without giving its permit back, or never began. */
async function staleHolders(system: System, limit: string, holders: readonly Holder[]): Promise<Holder[]> {
  const old = holders.filter(({ since }) => since + GRACE_MS <= system.clock.now())
  const checked = await Promise.all(old.map(async one => ((await isHeld(system, limit, one)) ? [] : [one])))
  return checked.flat()
}

async function isHeld(system: System, limit: string, { holder, taskId }: Holder): Promise<boolean> {
  const head = await system.tasks.head(taskId)
  const permits = Object.values(head?.live ?? {}).flatMap(run => run.permits ?? [])
  return permits.some(permit => permit.limit === limit && permit.holder === holder)
}

async function mostOf(system: System, limit: string): Promise<number | undefined> {
  const type = await cachedTypes(system)(typeOfLimit(limit))
  return type?.configuration.limits?.concurrency?.max
}

/**
 * Lets up to `room` of those in who wait, the first in the limit's place. Who comes too late for the permit waits on.
 * Answers whether anybody waits.
 */
async function letIn(system: System, limit: string, room: number): Promise<boolean> {
  const wanted = Math.min(PAGE, Math.max(0, room) + STALE_ENTRIES)
  const page = await system.tasks.page({ index: 'place', partition: limitPlace(limit), limit: wanted })
  const heads = new Map(
    (await system.tasks.heads(page.entries.map(({ id }) => id))).map(one => [one.id, one]),
  )
  const waiting = page.entries.flatMap(({ id }) => heads.get(id) ?? []).filter(task => waitsFor(task, limit))
  const ready = waiting.length < room ? await readyBeside(system, limit, room - waiting.length) : []
  await sendIn(system, [...waiting, ...ready].slice(0, Math.max(0, room)))
  return waiting.length + ready.length > 0
}

/**
 * Where tasks are taken in order, and one limit is for all of them, some wait in their ready places: their dispatches were
 * spent on others that waited for a permit already.
 */
async function readyBeside(system: System, limit: string, count: number): Promise<Task[]> {
  const type = await cachedTypes(system)(limit)
  if (!type || type.configuration.kind === 'http' || orderingOf(type) === 'arrival') return []
  return (await readyTasks(system, [type], count).next(count)).filter(({ wait }) => wait === undefined)
}

function waitsFor({ wait, state }: Task, limit: string): boolean {
  return state === 'open' && wait?.kind === 'permit' && wait.limit === limit
}

/** What is claimed over HTTP stands in its ready place again; for others a dispatch is enough, and costs no write. */
async function sendIn(system: System, tasks: readonly Task[]): Promise<void> {
  const dispatched = tasks.filter(task => workOf(task).kind !== 'http')
  if (dispatched.length > 0) {
    const failures = await system.messages.dispatch(dispatched.map(task => ({ task, delaySeconds: 0 })))
    if (failures[0]) throw new Error(`${failures.length} tasks were not let in: ${failures[0].reason}`)
  }
  const unblocked = tasks
    .filter(task => workOf(task).kind === 'http')
    .map(task => unblock(task, system.clock.now()))
  // Refused is only what somebody else has changed just now, and that ends its wait, too.
  await Promise.all(unblocked.map(async decision => decision.ok && system.tasks.apply(decision.change)))
}

/** Limits that one round of the sweeper asks about. */
const MOST_FORGOTTEN = 20
/** A note that somebody waits, older than this, means that nobody sees to them any more. */
export const NOTE_LIFE_MS = 4 * TEND_INTERVAL_S * 1_000

/** Begins to see to those among `tasks` who wait for permits where nobody does any more: the message that did was lost. */
export async function tendForgotten(system: System, tasks: readonly Task[]): Promise<void> {
  const now = system.clock.now()
  const old = tasks.filter(({ updatedAt }) => updatedAt + NOTE_LIFE_MS <= now)
  const limits = new Set(old.flatMap(({ wait }) => (wait?.kind === 'permit' ? wait.limit : [])))
  for (const limit of [...limits].slice(0, MOST_FORGOTTEN)) {
    const { waitsSince = 0 } = await system.limits.permits(limit)
    if (waitsSince + NOTE_LIFE_MS > now) continue
    await tendLimit(system, { limit, quiet: 0, delaySeconds: 0 })
  }
}
