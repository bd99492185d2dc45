/**
 * A look is a message that comes when a task may need attention: it is due, a lease or a deadline is over, or a slot
 * has come. This room serves looks, the far minutes that schedules wake, and the messages that go on with canvases,
 * limits and jobs.
 */
import { isItemFault } from '../../core/errors.ts'
import { minuteStart } from '../../core/place/place.ts'
import { MINUTE_SHARDS, minutePlaceName } from '../../core/place/place-names.ts'
import { lookRecord } from '../../core/plan/look-chain.ts'
import { look, plan } from '../../core/plan/plan.ts'
import type { Task } from '../../core/task/task.ts'
import type { Look, MinuteLook } from '../../ports/messages.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import type { PlanFailure } from '../kernel/isolate-faults.ts'
import { transact } from '../kernel/kernel.ts'
import { sleepUntil } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import { lookOf, sendMessages } from '../plan/plan.ts'
import { tickSchedule } from '../schedule/tick-schedule.ts'
import { markTargets } from '../worker/targets.ts'

/** A look as its queue delivered it; without an id it counts as delivered once. */
type ReceivedLook = Look & { readonly messageId?: string }

const PAGE = 100
/** A run of an hour with the default lease is looked at 240 times; far beyond any sane run something is looping. */
const MAX_HOPS = 100_000

/** Far longer than the sweeper looks back. */
const FIRED_LIFE_MS = 3_600_000

/**
 * Looks at tasks: records what has come due, or marks it for its listed workers, and arms the next look of those that
 * need nothing yet.
 */
export async function wakeTasks(system: System, sent: readonly ReceivedLook[]): Promise<PlanFailure[]> {
  const looks = latestLooks(sent)
  const heads = await system.tasks.heads(looks.map(({ id }) => id))
  const found = new Map(heads.map(task => [task.id, task]))
  const results = looks.map(async one => {
    try {
      return await wakeTask(system, one, await freshEnough(system, one, found.get(one.id)))
    } catch (error) {
      return [{ id: one.id, reason: String(error), transient: !isItemFault(error) }]
    }
  })
  return (await Promise.all(results)).flat()
}

/** Of several looks at one birth of a task the one planned last: it alone may be armed anew, and queues keep no order. */
function latestLooks(looks: readonly ReceivedLook[]): ReceivedLook[] {
  const latest = new Map<string, ReceivedLook>()
  for (const look of looks) {
    const name = `${look.id} ${look.born}`
    if ((latest.get(name)?.revision ?? -1) < look.revision) latest.set(name, look)
  }
  return [...latest.values()]
}

/** The cheap read may lag behind the look itself; then the head is read once more, strongly. */
async function freshEnough(system: System, one: Look, seen: Task | undefined): Promise<Task | undefined> {
  const isFresh = seen?.born === one.born && seen.revision >= one.revision
  return isFresh ? seen : system.tasks.head(one.id)
}

/** A look at a birth that is gone dies. One planned on an older revision does its duty but leaves the next to newer. */
async function wakeTask(system: System, one: ReceivedLook, seen: Task | undefined): Promise<PlanFailure[]> {
  if (seen?.born !== one.born) return []
  await waitOutTheRest(system, seen)
  if (seen.schedule) return wakeSchedule(system, one)
  const { decision, task } = await transact(system, seen, current =>
    current?.born === one.born
      ? look(current, system.clock.now(), system.chance.fraction())
      : { ok: false as const, reason: 'nothing-yet' as const },
  )
  if (decision.ok) {
    if (decision.change.after.operation === 'lose') system.metrics.add('LeaseLost', 1, seen.type)
    return []
  }
  if (!isPlannedOnThis(one, task)) return []
  const isSlotNear = one.slot && plan(task, system.clock.now()).dispatchAt !== undefined
  if (isSlotNear) return sendMessages(system, [task])
  return [...(await markTargets(system, [task])), ...(await rearm(system, task, one))]
}

function isPlannedOnThis(one: Look, task: Task | undefined): task is Task {
  return task !== undefined && task.born === one.born && task.revision <= one.revision
}

async function wakeSchedule(system: System, one: ReceivedLook): Promise<PlanFailure[]> {
  const { ticked, task } = await tickSchedule(system, one)
  return ticked || !isPlannedOnThis(one, task) ? [] : rearm(system, task, one)
}

/** A look may come less than a second early, since queues delay by whole seconds. */
async function waitOutTheRest({ clock }: System, task: Task): Promise<void> {
  const { lookAt = 0 } = plan(task, clock.now())
  if (lookAt - clock.now() < 1_000) await sleepUntil(clock, lookAt)
}

async function rearm(system: System, task: Task, { hops, messageId }: ReceivedLook): Promise<PlanFailure[]> {
  if (hops >= MAX_HOPS) {
    system.metrics.add('LookLoop', 1, task.type)
    system.log.error('a look was armed anew too often; the sweeper goes on', { ...logFields(task), hops })
    return []
  }
  if (!(await mayGoOn(system, task, hops + 1, messageId))) return []
  const failures = await system.messages.look(lookOf(task, system.clock.now(), hops + 1))
  return failures.map(({ index: _index, ...why }) => ({ id: task.id, ...why }))
}

/** Whether the chain arms its look number `hops`: it ends when another chain looks at the same run and has come as far. */
async function mayGoOn(system: System, task: Task, hops: number, messageId?: string): Promise<boolean> {
  const now = system.clock.now()
  const record = lookRecord(task, { hops, messageId: messageId ?? system.chance.ulid(now).slice(-10) }, now)
  if (!record || (await system.tasks.recordLook(task, record, now))) return true
  system.log.debug('a doubled chain of looks has ended', { ...logFields(task), hops })
  return false
}

/**
 * A minute's schedule has fired: each partition of its place is dispatched on its own. That it has is put on record, for
 * the sweeper, which wakes the minutes whose schedule has not.
 */
export async function wakeMinute({ messages, records, clock }: System, minute: number): Promise<void> {
  const shards = Array.from({ length: MINUTE_SHARDS }, (_, shard) => shard)
  await Promise.all(shards.map(shard => messages.lookAtMinute({ minute, shard })))
  await records.put(firedRecord(minute), { at: clock.now() }, minuteStart(minute) + FIRED_LIFE_MS)
}

/** Whether a minute has been woken. */
export async function wasMinuteWoken({ records }: Pick<System, 'records'>, minute: number): Promise<boolean> {
  return (await records.get(firedRecord(minute))) !== undefined
}

function firedRecord(minute: number): string {
  return `minute#${minute}`
}

/**
 * Sends the messages of all tasks in one partition of a minute's place, page by page; what does not fit into the time
 * until `stopAt` goes on in a message of its own. Tasks stay in the place until they are claimed or change.
 */
export async function wakeMinuteShard(
  system: System,
  { minute, shard, after }: MinuteLook,
  stopAt: number,
): Promise<void> {
  const partition = minutePlaceName(minute, shard)
  let position: IndexEntry | undefined = after
  for (;;) {
    if (system.clock.now() >= stopAt) {
      return system.messages.lookAtMinute({ minute, shard, ...(position && { after: position }) })
    }
    const page = await system.tasks.page({
      index: 'place',
      partition,
      limit: PAGE,
      ...(position && { after: position }),
    })
    const due = await system.tasks.heads(page.entries.map(({ id }) => id))
    const failures = (await sendMessages(system, due)).filter(({ transient }) => transient)
    if (failures.length > 0)
      throw new Error(`${failures.length} tasks of minute ${minute} not sent: ${failures[0]?.reason}`)
    position = page.entries.at(-1) ?? position
    if (!page.more) return
  }
}
