import type { Holder } from '../../core/limits/limits.ts'
import { endWait, freePermitsIn, isInLine, mayBeStale, shardsOf } from '../../core/limits/limits.ts'
import type { Found, Grants, LimitLook, Line, LineNote, Remembered } from '../../core/limits/line.ts'
import {
  ADMITTED_AHEAD_MS,
  hadNoEffect,
  LOOK_TASKS_MAX,
  noteAfterChoice,
  noteAfterLook,
  noteAfterRelease,
  rememberedIn,
  wantedAfterNoEffect,
  wantedAfterRelease,
  wantedBy,
} from '../../core/limits/line.ts'
import { freeSlots } from '../../core/limits/slots.ts'
import { limitPlace, readyPlace } from '../../core/place/place.ts'
import { workOf } from '../../core/task/piece.ts'
import { isTargeted, type Task, typeOfLimit } from '../../core/task/task.ts'
import { orderingOf, servingType, shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import { isItemFault } from '../../core/values/values.ts'
import { isolateEach, readTask, readTasksInOrder } from '../kernel/heads.ts'
import { applyChange } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { isTicket, mergeRanges, placeRanges, rangeNumber } from '../place/ready.ts'
import { cachedTypeReader } from '../types/type-cache.ts'
import { limitRulesOf, linesOf } from './line.ts'

/**
 * The looks at lines: they admit the tasks at the front, as many as the limit can grant.
 *
 * The note of the line is written before the dispatches are sent, guarded by its version. So of several looks at one time each admits
 * other tasks. If the process dies between the two, a later look dispatches the tasks again.
 */

const ROUNDS_MAX = 20
const ROUND_PAUSE_MS_MAX = 40
const PAGE_ENTRIES = 100
/** This many index entries are read beyond those wanted, since some of the tasks have been claimed already. */
const SPARE_ENTRIES = 10
/** At most this many entries are read beyond those that the note remembers. For a while, the index still shows claimed tasks. */
const EXAMINED_MAX = 1_000 + LOOK_TASKS_MAX
const CHANGES_AT_ONCE_MAX = 100
/** While a type is paused, nothing starts, and the line is looked at this often. */
const PAUSED_LOOK_MS = 15_000

/** Serves one look: admits waiting tasks, writes the note, and sends the next look of the series. */
export async function serveLimitLook(system: System, look: LimitLook): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    if (await serveOnce(system, look)) return
    await system.clock.sleep(ROUND_PAUSE_MS_MAX * system.chance.fraction())
  }
  system.log.warn('a look at a limit has ended, since others were faster', { limit: look.line.limit })
}

/** False when another process has written the note meanwhile. */
async function serveOnce(system: System, look: LimitLook): Promise<boolean> {
  const { line, at, released, shards } = look
  const [stored, type] = await Promise.all([
    system.limits.line(line),
    cachedTypeReader(system)(typeOfLimit(line.limit)),
  ])
  const { note } = stored
  if (!note || !type || (at !== undefined && note.lookAt !== at)) return true
  const grants = await grantsOf(system, line, type, shards)
  const now = system.clock.now()
  const isOfSeries = released === undefined
  const wanted = isOfSeries
    ? await wantedNow(system, type, note, { line, grants })
    : wantedAfterRelease(note, grants, released, now)
  const { tasks, ...found } = await frontOf(system, line, type, {
    remembered: rememberedIn(note, now),
    wanted,
    startsAt: grants.firstAt ?? now,
  })
  const chosen = noteAfterChoice(note, found, grants, now)
  const next = isOfSeries ? noteAfterLook(chosen, found, grants, now) : noteAfterRelease(note, chosen, found)
  if (!next) {
    if (isOfSeries) await system.limits.endLine(line, stored)
    return true
  }
  if (isOfSeries) await sendNext(system, line, next.lookAt)
  if (await system.limits.putLine(line, next, stored)) return false
  await dispatchAll(system, look, type, tasks)
  return true
}

/**
 * Sends the next look before the note names it. If this process dies between the two, SQS delivers the present look again, and the note
 * still names that one.
 */
async function sendNext(system: System, line: Line, at: number): Promise<void> {
  const delaySeconds = Math.max(0, Math.ceil((at - system.clock.now()) / 1_000))
  const [failure] = await system.messages.lookAtLimits([{ line, at, delaySeconds }])
  if (failure) throw new Error(`the next look at ${line.limit} was not sent: ${failure.reason}`)
}

/** What the limit can grant until the next look. A limit that exists no more holds nothing back. */
async function grantsOf(
  system: System,
  line: Line,
  type: TaskType,
  released?: readonly number[],
): Promise<Grants> {
  const now = system.clock.now()
  if (type.paused) return { free: 0, nextAt: now + PAUSED_LOOK_MS + ADMITTED_AHEAD_MS }
  const { rate, concurrency } = type.configuration.limits ?? {}
  if (line.kind === 'slot' && rate) {
    const { log } = await system.limits.slots(line.limit)
    const bounds = { until: now + ADMITTED_AHEAD_MS, most: LOOK_TASKS_MAX }
    const { count, ...times } = freeSlots(log, rate, now, bounds)
    return { free: count, ...times, granted: log?.granted ?? 0 }
  }
  if (line.kind === 'permit' && concurrency) {
    const shards = released ? [...new Set(released)] : shardsOf(concurrency.max)
    const { holders } = await system.limits.permits(line.limit, shards)
    const held = released ? holders : await withoutStaleHolders(system, line.limit, holders)
    return { free: freePermitsIn(shards, concurrency.max, held) }
  }
  return { free: LOOK_TASKS_MAX, nextAt: now }
}

type Search = {
  readonly remembered: Remembered
  readonly wanted: number
  /** When the first admitted task can start. */
  readonly startsAt: number
}

/**
 * The tasks at the front of the line, and the ones among them that the look admits: as many as it may, none that was dispatched just now, and
 * none whose deadline comes before the start, since it would waste the grant. Each freed permit admits a task, whatever is under way for
 * other permits. Tasks that the limit does not count any more are all admitted.
 */
async function frontOf(
  system: System,
  line: Line,
  type: TaskType,
  { remembered, wanted: most, startsAt }: Search,
): Promise<Found & { readonly tasks: readonly Task[] }> {
  const waiting: string[] = []
  const tasks: Task[] = []
  let wanted = most
  let unread: string[] = []
  const read = async () => {
    const heads = await readTasksInOrder(system, unread)
    unread = []
    for (const task of heads.filter(one => waitsIn(one, line, type))) {
      waiting.push(task.id)
      const isCounted = linesOf(await limitRulesOf(system, task)).some(one => isInLine(task, one))
      if (task.wait && !isCounted) wanted += 1
      const canStart = task.deadlineAt === undefined || task.deadlineAt > startsAt
      if (canStart && tasks.length < wanted) tasks.push(task)
    }
  }
  let examined = 0
  // Tasks whose heads record the wait are in the limit's place; others are in the ready place of their type.
  const recorded = new Set(shardNumbers(type).map(shard => rangeNumber(limitPlace(line, shard))))
  let isRecorded = false
  const pageSize = Math.min(PAGE_ENTRIES, wanted + SPARE_ENTRIES)
  for await (const { id, range } of entriesOf(system, line, type, pageSize)) {
    examined += 1
    isRecorded ||= recorded.has(range)
    if (remembered.mayBeSent(id)) unread.push(id)
    else waiting.push(id)
    if (unread.length >= Math.min(PAGE_ENTRIES, wanted - tasks.length + SPARE_ENTRIES)) await read()
    const isEnough = tasks.length >= wanted && waiting.length > 0 && examined >= remembered.count
    if (isEnough || examined >= EXAMINED_MAX + remembered.count) break
  }
  if (tasks.length < wanted || waiting.length === 0) await read()
  const isSpare = tasks.length < wanted
  const isIdle = waiting.length === 0 || (isSpare && !isRecorded)
  return { waiting, isSpare, isIdle, chosen: tasks.map(({ id }) => id), tasks }
}

/** The index entries of the line, in its order. */
function entriesOf(system: System, line: Line, type: TaskType, pageSize: number) {
  const shards = shardNumbers(type)
  const places = [
    ...shards.map(shard => limitPlace(line, shard)),
    ...(isReadyLine(line, type) ? shards.map(shard => readyPlace(type.type, shard)) : []),
  ]
  return mergeRanges(system.tasks, placeRanges(places), { pageSize })
}

/** Whether tasks may wait for the limit in the ready place of its type, where tickets lead to them. */
function isReadyLine({ limit }: Line, type: TaskType): boolean {
  const hasOrder = type.isFair === true || orderingOf(type) !== 'arrival'
  return limit === type.type && hasOrder && type.configuration.kind !== 'http'
}

/** Whether the task waits in the line: by its record, or in the ready place, as tasks with tickets do. */
function waitsIn(task: Task, line: Line, type: TaskType): boolean {
  if (task.state !== 'open') return false
  if (isInLine(task, line)) return true
  return (
    isReadyLine(line, type) &&
    task.wait === undefined &&
    workOf(task).type === type.type &&
    isTicket(task, type)
  )
}

/** How many tasks a look of a series admits. Tickets in the queue of a type that is run in order are enough for all tasks that may start. */
async function wantedNow(
  { messages, clock }: System,
  type: TaskType,
  note: LineNote,
  { line, grants }: { readonly line: Line; readonly grants: Grants },
): Promise<number> {
  const { kind } = type.configuration
  const now = clock.now()
  // A look takes tasks of HTTP workers out of the line. If they are back in it, a worker has asked for them.
  const isInVain = kind !== 'http' && hadNoEffect(note, grants, now)
  // The steps of a flow have queues of their own.
  const reads = kind !== 'flow' && (isInVain || isReadyLine(line, type))
  const backlog = reads ? await messages.backlog(servingType(type.type, kind)) : 0
  if (isInVain) return wantedAfterNoEffect(note, grants, now, backlog === 0)
  return backlog ? 0 : wantedBy(note, grants, now)
}

/**
 * Admits the tasks. Each dispatch names the shard of a freed permit. A task of an HTTP worker returns to its ready place, and a targeted
 * one is found by its markers; all others are dispatched.
 */
async function dispatchAll(
  system: System,
  { line: { limit }, shards = [] }: LimitLook,
  type: TaskType,
  tasks: readonly Task[],
): Promise<void> {
  const untargeted = tasks.filter(task => !isTargeted(task))
  const overHttp = untargeted.filter(task => workOf(task).kind === 'http')
  const dispatched = untargeted.filter(task => workOf(task).kind !== 'http')
  await isolateEach(system, overHttp, CHANGES_AT_ONCE_MAX, task => endWaitOf(system, task))
  const failures = await system.messages.dispatch(
    dispatched.map((task, nth) => {
      const shard = shards[nth]
      return { task, delaySeconds: 0, ...(shard !== undefined && { freed: { limit, shard } }) }
    }),
  )
  if (failures[0])
    system.log.warn('tasks that wait for a limit were not dispatched; a later look dispatches them again', {
      ...{ limit, type: type.type, tasks: failures.length, reason: failures[0].reason },
    })
}

/** Ends the wait of the task as it was seen. A task that has changed meanwhile is left as it is. */
export async function endWaitOf(system: System, task: Task): Promise<void> {
  const ended = endWait(task, system.clock.now())
  if (ended.ok) await applyChange(system, ended.change)
}

/** Removes holders whose run is not live: it ended without releasing its permit, or never began. Returns the holders that are left. */
async function withoutStaleHolders(
  system: System,
  limit: string,
  holders: readonly Holder[],
): Promise<readonly Holder[]> {
  const now = system.clock.now()
  const old = holders.filter(one => mayBeStale(one, now))
  const checked = await Promise.all(old.map(async one => ((await isHeld(system, limit, one)) ? [] : [one])))
  const removed = new Set<string>()
  for (const { holder, since } of checked.flat()) {
    const left = await system.limits.release(limit, holder, since)
    if (!left.holders.some(one => one.holder === holder)) removed.add(holder)
  }
  return holders.filter(({ holder }) => !removed.has(holder))
}

/** Whether a live run of the task holds the permit. A task that cannot be read has no live run: its heartbeats are refused. */
async function isHeld(system: System, limit: string, { holder, taskId }: Holder): Promise<boolean> {
  const head = await readTask(system, taskId).catch(error => {
    if (!isItemFault(error)) throw error
    return undefined
  })
  const permits = Object.values(head?.live ?? {}).flatMap(run => run.permits ?? [])
  return permits.some(permit => permit.limit === limit && permit.holder === holder)
}
