/**
 * A look is a message that arrives when a task may need attention: the task is due, or a lease or a deadline is over.
 *
 * This file serves looks, and dispatches the tasks of a far minute when its EventBridge schedule fires. (A far
 * minute is further ahead than an SQS delay reaches, 15 minutes.) `serveWakes` takes each batch of the wake
 * queue or the jobs queue apart, and also continues canvases, limits and jobs.
 */

import type { LimitLook } from '../core/limits/line.ts'
import { MINUTE_SHARDS, minutePlaceName, minuteStart } from '../core/place/place.ts'
import { minuteRecord } from '../core/record-names.ts'
import { type Head, isSchedule, isTask } from '../core/task/head.ts'
import type { Task } from '../core/task/task.ts'
import { groupBy, isItemFault } from '../core/values/values.ts'
import { look, lookRecord, type Planned, plan, planned } from '../core/wake.ts'
import type { Look, MinuteLook, Wake } from '../ports/messages.ts'
import type { IndexEntry } from '../ports/stores.ts'
import { driveCanvas } from './canvas/drive-canvas.ts'
import { workOnJob } from './jobs/jobs.ts'
import { failureOf, type PlanFailure } from './kernel/heads.ts'
import { ofSameBirth, transact } from './kernel/kernel.ts'
import { logFields } from './kernel/log-run-ends.ts'
import { type System, sleepUntil } from './kernel/system.ts'
import { serveLimitLook } from './limits/serve-limit-looks.ts'
import { lookOf, sendMessages } from './plan/plan.ts'
import { tickSchedule } from './schedule/tick-schedule.ts'
import { markTargets } from './worker/worker.ts'

/** A look as its queue delivered it; without an id it counts as delivered once. */
type ReceivedLook = Look & { readonly messageId?: string }

const PAGE_TASKS = 100
/** A run of an hour with the default lease is looked at 240 times. A chain far beyond any sane run is a loop. */
const HOPS_MAX = 100_000

/** The record of a woken minute is kept this long: far longer than the sweeper looks back. */
const WOKEN_RECORD_MS = 3_600_000

/**
 * Looks at tasks: records what has become due, or marks the task for its listed workers, and sends the next look
 * at tasks that need nothing yet.
 */
export async function wakeTasks(system: System, sent: readonly ReceivedLook[]): Promise<PlanFailure[]> {
  const looks = latestLooks(sent)
  const heads = await system.tasks.heads(looks.map(({ id }) => id))
  const found = new Map(heads.map(task => [task.id, task]))
  const results = looks.map(async sentLook => {
    try {
      return await wakeTask(system, sentLook, await freshHead(system, sentLook, found.get(sentLook.id)))
    } catch (error) {
      return [failureOf(sentLook.id, error, !isItemFault(error))]
    }
  })
  return (await Promise.all(results)).flat()
}

/** Keeps only the latest planned look at one birth of a task: it alone may send the next look, and queues keep no order. */
function latestLooks(looks: readonly ReceivedLook[]): ReceivedLook[] {
  const latest = new Map<string, ReceivedLook>()
  for (const look of looks) {
    const name = `${look.id} ${look.born}`
    if ((latest.get(name)?.revision ?? -1) < look.revision) latest.set(name, look)
  }
  return [...latest.values()]
}

/** The eventually consistent read may lag behind the look itself; then the head is read again strongly. */
async function freshHead(system: System, sentLook: Look, seen: Head | undefined): Promise<Head | undefined> {
  const isFresh = seen?.born === sentLook.born && seen.revision >= sentLook.revision
  return isFresh ? seen : system.tasks.head(sentLook.id)
}

/**
 * Serves one look. A look at a birth that is gone does nothing. A look that was planned on an older revision
 * does its work, but leaves the next look to the newer one.
 */
async function wakeTask(
  system: System,
  sentLook: ReceivedLook,
  seen: Head | undefined,
): Promise<PlanFailure[]> {
  if (seen?.born !== sentLook.born) return []
  await waitUntilDue(system, seen)
  if (isSchedule(seen)) return wakeSchedule(system, sentLook)
  // Canvases have looks of another kind (`driveCanvas`).
  if (!isTask(seen)) return []
  const decide = ofSameBirth(sentLook, (current: Task) =>
    look(current, system.clock.now(), system.chance.fraction()),
  )
  const { decision, head: task } = await transact(system, seen, decide)
  if (decision.ok || !isPlannedOnThis(sentLook, task)) return []
  const next = planned(task, system.clock.now())
  return [...(await markTargets(system, [next])), ...(await sendNextLook(system, next, sentLook))]
}

function isPlannedOnThis<H extends Head>(sentLook: Look, task: H | undefined): task is H {
  return task !== undefined && task.born === sentLook.born && task.revision <= sentLook.revision
}

async function wakeSchedule(system: System, sentLook: ReceivedLook): Promise<PlanFailure[]> {
  const { ticked, task } = await tickSchedule(system, sentLook)
  if (ticked || !isPlannedOnThis(sentLook, task)) return []
  return sendNextLook(system, planned(task, system.clock.now()), sentLook)
}

/** Waits until the look is due: it may arrive up to a second early, since queues delay by whole seconds. */
async function waitUntilDue({ clock }: System, task: Head): Promise<void> {
  const { lookAt = 0 } = plan(task, clock.now())
  if (lookAt - clock.now() < 1_000) await sleepUntil(clock, lookAt)
}

async function sendNextLook(
  system: System,
  next: Planned,
  { hops, messageId }: ReceivedLook,
): Promise<PlanFailure[]> {
  const { head: task } = next
  if (hops >= HOPS_MAX) {
    system.metrics.add('LookLoop', 1, task.type)
    const message = 'a chain of looks at one task is too long and ends; the sweeper continues with the task'
    system.log.error(message, { ...logFields(task), hops })
    return []
  }
  if (!(await maySendNext(system, task, hops + 1, messageId))) return []
  const failures = await system.messages.look(lookOf(next, system.clock.now(), hops + 1))
  return failures.map(({ index: _index, ...why }) => ({ id: task.id, ...why }))
}

/** Whether the chain of looks sends its look number `hops`. A chain ends when another chain looks at the same run and has sent as many. */
async function maySendNext(system: System, task: Head, hops: number, messageId?: string): Promise<boolean> {
  if (!isTask(task)) return true
  const now = system.clock.now()
  const record = lookRecord(task, { hops, messageId: messageId ?? system.chance.ulid(now).slice(-10) }, now)
  if (!record || (await system.tasks.recordLook(task, record, now))) return true
  system.log.debug('a duplicate chain of looks has ended', { ...logFields(task), hops })
  return false
}

/**
 * Wakes a far minute, because its EventBridge schedule has fired or because the sweeper replaces that schedule. It
 * sends one message for each partition of the minute's place. A record shows the sweeper that the minute was woken.
 */
export async function wakeMinute({ messages, records, clock }: System, minute: number): Promise<void> {
  const shards = Array.from({ length: MINUTE_SHARDS }, (_, shard) => shard)
  await Promise.all(shards.map(shard => messages.lookAtMinute({ minute, shard })))
  await records.put(minuteRecord(minute), { at: clock.now() }, minuteStart(minute) + WOKEN_RECORD_MS)
}

export async function wasMinuteWoken({ records }: Pick<System, 'records'>, minute: number): Promise<boolean> {
  return (await records.get(minuteRecord(minute))) !== undefined
}

/**
 * Sends the messages of all tasks in one partition of a minute's place, page by page. At `stopAt` it leaves the
 * rest to a new message. Tasks stay in the place until they are claimed or change.
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
      limit: PAGE_TASKS,
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

type Received = { readonly messageId: string; readonly wake: Wake }

/**
 * Serves wake messages: looks at tasks, dispatches the tasks of far minutes, continues canvases and jobs, and admits tasks that wait for a
 * limit. Work that is not done at `stopAt` continues in a new message. Returns the ids of the messages that SQS must deliver again.
 */
export async function serveWakes(
  system: System,
  received: readonly Received[],
  stopAt: number,
): Promise<string[]> {
  const failed = await Promise.all([
    serveLooks(system, received),
    ...serveLimitLooks(system, received),
    ...received.map(one => serveOther(system, one, stopAt)),
  ])
  return failed.flat()
}

/** Serves the looks that report released permits. One call for each limit admits tasks for all of its permits. */
function serveLimitLooks(system: System, received: readonly Received[]): Promise<string[]>[] {
  const looks = received.flatMap(({ messageId, wake }) =>
    wake.kind === 'limit' && wake.look.released !== undefined ? [{ messageId, look: wake.look }] : [],
  )
  return [...groupBy(looks, ({ look }) => look.line.limit)].map(async ([limit, ofLimit]) => {
    try {
      await serveLimitLook(system, ofLimit.map(({ look }) => look).reduce(asOneLook))
      return []
    } catch (error) {
      system.log.warn('tasks that wait for a limit were not admitted; SQS delivers the message again', {
        error,
        limit,
      })
      return ofLimit.map(({ messageId }) => messageId)
    }
  })
}

/** One look for the permits of both. It names the shards only if both looks do. */
function asOneLook(a: LimitLook, b: LimitLook): LimitLook {
  const { shards: _shards, ...look } = { ...a, released: (a.released ?? 1) + (b.released ?? 1) }
  return a.shards && b.shards ? { ...look, shards: [...a.shards, ...b.shards] } : look
}

async function serveLooks(system: System, received: readonly Received[]): Promise<string[]> {
  const looks = received.flatMap(({ messageId, wake }) =>
    wake.kind === 'look' ? [{ messageId, look: wake.look }] : [],
  )
  if (looks.length === 0) return []
  const sent = looks.map(({ messageId, look }) => ({ ...look, messageId }))
  const failures = await wakeTasks(system, sent)
  const failedIds = new Set(failures.filter(({ transient }) => transient).map(({ id }) => id))
  for (const failure of failures) {
    const outcome = failure.transient ? 'SQS delivers its message again' : 'its message is deleted'
    system.log.warn(`a look was not served; ${outcome}`, failure)
  }
  return looks.filter(({ look }) => failedIds.has(look.id)).map(({ messageId }) => messageId)
}

async function serveOther(system: System, { messageId, wake }: Received, stopAt: number): Promise<string[]> {
  if (wake.kind === 'look') return []
  try {
    if (wake.kind === 'minute') await wakeMinute(system, wake.minute)
    else if (wake.kind === 'minute-shard') await wakeMinuteShard(system, wake.look, stopAt)
    else if (wake.kind === 'job') await workOnJob(system, wake.look, stopAt)
    else if (wake.kind === 'canvas') await driveCanvas(system, wake.look, stopAt)
    // `serveLimitLooks` serves the looks after a release.
    else if (wake.look.released === undefined) await serveLimitLook(system, wake.look)
    return []
  } catch (error) {
    system.log.warn(`a wake message of kind ${wake.kind} was not served; SQS delivers it again`, {
      error,
      messageId,
    })
    return [messageId]
  }
}
