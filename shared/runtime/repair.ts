import type { Decision } from '../core/change.ts'
import { bodiesExpiringBefore, type Head, type OfKind } from '../core/task/head.ts'
import type { Task } from '../core/task/task.ts'
import type { Json } from '../core/values/values.ts'
import type { IndexEntry, IndexRange } from '../ports/stores.ts'
import { BODY_ALERT_MS, isolateEach, readEntries, sideBySide } from './kernel/heads.ts'
import { transactBirth } from './kernel/kernel.ts'
import type { System } from './kernel/system.ts'

/**
 * What all repairs of the sweeper share. A repair mends one kind of loss, in rounds that come every minute; `sweep/sweep.ts`
 * lists the repairs and runs them. The code of a repair belongs to the room of the repaired feature. That list imports those rooms, and
 * they import this one, so this file knows no feature.
 *
 * A round of a repair
 * - reads a bounded number of items, however many there are: what changed recently, and the next items after a cursor
 *   (`readFromCursor`);
 * - repeats only work that may be done twice, because what seems lost may only be late;
 * - continues with the other items when one fails (`sweepEach`);
 * - renews the bodies of heads that wait for long (`renewAgeingBodies`).
 */

export type SweepReport = {
  /** How many heads of tasks, canvases and schedules it read. */
  readonly examined: number
  /** How much it put right: messages that it sent again, schedules that it ticked, dead workers that it took out. */
  readonly repaired: number
  readonly failed: number
}

export const NOTHING_SWEPT: SweepReport = { examined: 0, repaired: 0, failed: 0 }

/** The report of several rounds, or of several parts of one. */
export function sumOf(reports: readonly SweepReport[]): SweepReport {
  return reports.reduce(
    (sum, { examined, repaired, failed }) => ({
      examined: sum.examined + examined,
      repaired: sum.repaired + repaired,
      failed: sum.failed + failed,
    }),
    NOTHING_SWEPT,
  )
}

/**
 * Sweeps each item, at most `most` at a time. An item that cannot be swept counts as failed and does not stop the others;
 * `logFailure` says in the log which one it is.
 */
export async function sweepEach<Item>(
  items: readonly Item[],
  most: number,
  sweepOne: (item: Item) => Promise<SweepReport>,
  logFailure: (item: Item, error: unknown) => void,
): Promise<SweepReport> {
  const reports = await sideBySide(items, most, async item => {
    try {
      return await sweepOne(item)
    } catch (error) {
      logFailure(item, error)
      return { ...NOTHING_SWEPT, failed: 1 }
    }
  })
  return sumOf(reports)
}

/**
 * Renews the bodies of open heads that wait untouched for so long that their bodies expire within days. The kernel renews
 * them at any change, so `touch`, a transition that changes nothing, is enough.
 */
export async function renewAgeingBodies<H extends Head>(
  system: System,
  heads: readonly H[],
  most: number,
  touch: (current: OfKind<H>, now: number) => Decision<string, OfKind<H>>,
): Promise<void> {
  const now = system.clock.now()
  const ageing = heads.filter(
    head => head.state === 'open' && bodiesExpiringBefore(head, now + BODY_ALERT_MS).length > 0,
  )
  await isolateEach(system, ageing, most, seen => transactBirth(system, seen, current => touch(current, now)))
}

/** A message that has been silent for this long counts as lost even while other messages wait in the jobs queue. */
const SILENCE_MS_MAX = 15 * 60_000

/**
 * Returns a function that judges whether the message of a job or a canvas is lost, given the time of its last sign of life.
 *
 * Silence alone is not enough. Behind a large resume a message may wait for minutes, and each copy of it would make the queue longer. The
 * queue is measured at most once per detector, and only when something is silent.
 */
export function lostMessageDetector(
  { messages, clock }: Pick<System, 'messages' | 'clock'>,
  silentMs: number,
): (lastSign: number) => Promise<boolean> {
  let waiting: Promise<number> | undefined
  return async lastSign => {
    const silence = clock.now() - lastSign
    if (silence < silentMs) return false
    if (silence >= SILENCE_MS_MAX) return true
    waiting ??= messages.waitingJobs()
    return (await waiting) === 0
  }
}

/**
 * A round reads a part of an index range and records where it stopped; the next round continues there. So each round costs
 * the same however much waits, and every entry is read in some round. At the end of the range the next round begins again.
 */

const PAGE_ENTRIES = 500
/** A cursor that no round has moved for a week begins again. */
const CURSOR_TTL_MS = 7 * 86_400_000

type RangePart = {
  readonly entries: readonly IndexEntry[]
  /** The last entry, after which the next round continues. Undefined: the range was read to its end. */
  readonly position: IndexEntry | undefined
}

/** Reads at most `budget` entries of a range from where the last round stopped, and records where it stopped. */
export async function readFromCursor(
  system: Pick<System, 'tasks' | 'records' | 'clock'>,
  recordName: string,
  range: IndexRange,
  budget: number,
): Promise<readonly IndexEntry[]> {
  const stored = await system.records.get(recordName)
  const { entries, position } = await readAfter(system, storedPosition(stored), range, budget)
  await moveCursor(system, recordName, stored, position ?? null)
  return entries
}

/** The position that a record holds; a record may hold more. */
function storedPosition(stored: Json | undefined): IndexEntry | undefined {
  const { id, sort } = (stored ?? {}) as Partial<IndexEntry>
  return id === undefined || sort === undefined ? undefined : { id, sort }
}

/** Reads at most `budget` entries of a range after a position, or from its start. Entries that are `known` are left out. */
export async function readAfter(
  { tasks }: Pick<System, 'tasks'>,
  position: IndexEntry | undefined,
  range: IndexRange,
  budget: number,
  known: ReadonlySet<string> = new Set(),
): Promise<RangePart> {
  const entries: IndexEntry[] = []
  let after = position
  while (entries.length < budget) {
    const limit = Math.min(PAGE_ENTRIES, budget - entries.length)
    const page = await tasks.page({ ...range, limit, ...(after && { after }) })
    entries.push(...page.entries.filter(({ id }) => !known.has(id)))
    after = page.more ? page.entries.at(-1) : undefined
    if (!after) break
  }
  return { entries, position: after && { id: after.id, sort: after.sort } }
}

/** Records what the next round needs to continue. A range that is always read in one round never gets a record. */
async function moveCursor(
  { records, clock }: Pick<System, 'records' | 'clock'>,
  recordName: string,
  stored: Json | undefined,
  next: Json,
): Promise<void> {
  if (next === null && (stored ?? null) === null) return
  await records.put(recordName, next, clock.now() + CURSOR_TTL_MS)
}

/**
 * The sweeper reads each index partition from its start to its end, a budget of tasks per round: that is a pass. A pass over many tasks
 * takes many rounds, and a record keeps its cursor. The record also keeps when this pass and the previous ones began. A task that became
 * due since the previous pass began may not have been read yet, however old it is.
 */

/** A pass without a record took one round, and rounds come every minute. */
const SHORT_PASS_MS = 60_000
/** The record keeps this pass and the two before it. Two passes send a lost task, since a message of the sweeper may get lost as well. */
const PASSES_KNOWN_MAX = 3

/** A task that a round looks at, and since when earlier passes may have missed it. */
export type SweepCandidate = {
  readonly task: Task
  /** A task that became due at this time or later may not have been read by an earlier pass. */
  readonly unreadSince: number
  /** A task that became due at this time or later may have been read by only one earlier pass, or by none. */
  readonly readOnceSince: number
}

type Pass = {
  /** The last entry that was read; without it, a new pass begins. */
  readonly position?: IndexEntry | undefined
  /** When this pass and the previous ones began, the latest first. */
  readonly begins: readonly number[]
}

/**
 * Reads at most `budget` tasks of a range from where the last round stopped, and records where it stopped. Tasks that are `known`
 * are not read again.
 */
export async function readNextInPass(
  system: Pick<System, 'tasks' | 'records' | 'clock'>,
  recordName: string,
  range: IndexRange,
  budget: number,
  known?: ReadonlySet<string>,
): Promise<SweepCandidate[]> {
  const stored = await system.records.get(recordName)
  const pass = passFrom(stored, system.clock.now())
  const { entries, position } = await readAfter(system, pass.position, range, budget, known)
  const tasks = await readEntries(system, entries)
  await moveCursor(system, recordName, stored, recordOf({ ...pass, position }, pass.position !== undefined))
  const unreadSince = beganBefore(pass, 1)
  const readOnceSince = beganBefore(pass, 2)
  return tasks.map(task => ({ task, unreadSince, readOnceSince }))
}

/** The pass that continues, or a new one. Earlier versions stored the position alone. */
function passFrom(stored: Json | undefined, now: number): Pass {
  const { begins = [] } = (stored ?? {}) as Partial<Pass>
  const position = storedPosition(stored)
  if (!position) return { begins: [now, ...begins].slice(0, PASSES_KNOWN_MAX) }
  return { position, begins: begins.length > 0 ? begins : [now] }
}

/** When the pass that is `count` passes before this one began. */
function beganBefore({ begins }: Pass, count: number): number {
  const known = Math.min(count, begins.length - 1)
  return (begins[known] ?? 0) - (count - known) * SHORT_PASS_MS
}

/** The record of a pass. A pass that ended in the round in which it began leaves none. */
function recordOf({ position, begins }: Pass, tookSeveralRounds: boolean): Json {
  if (position) return { ...position, begins: [...begins] }
  return tookSeveralRounds ? { begins: [...begins] } : null
}
