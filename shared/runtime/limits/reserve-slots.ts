import { BatonError } from '../../core/errors.ts'
import type { NamedLimit } from '../../core/limits/limits.ts'
import {
  bookedSlots,
  decideReservation,
  nextSlot,
  rateText,
  type SlotLog,
  type StoredSlotLog,
} from '../../core/limits/slots.ts'
import type { Slot } from '../../core/task/wait.ts'
import type { RateLimit } from '../../core/types/task-type.ts'
import { processMemory } from '../kernel/process-memory.ts'
import type { System } from '../kernel/system.ts'

/**
 * Reserves slots of a rate limit. All processes write one slot log per limit with optimistic locking. Within one process,
 * the requests that arrive while the log is written are served together by the next write.
 */

/**
 * A round is one try to write the log, and fails when another process wrote first. Each process writes once for all its
 * waiting requests, so no more writers compete than there are processes.
 */
const ROUNDS_MAX = 100
const ROUND_PAUSE_MS_MAX = 40
/** The log expires this many periods after its last slot. Its slots then no longer limit later slots. */
const LOG_LIFE_PERIODS = 2
const LOG_LIFE_MS_MIN = 60_000

/** No slot is free now. One may be free at `notBefore`. */
type NoFreeSlot = { readonly notBefore: number }

type Request = {
  readonly onlyFree: boolean
  resolve(outcome: Slot | NoFreeSlot): void
  reject(error: unknown): void
}

/** The requests of this process that wait while a limit's log is written. */
type WaitList = { waiting: Request[] }

/** The wait lists by limit. One exists only while this process writes that limit's log. */
const waitListsOf = processMemory(() => new Map<string, WaitList>())

/**
 * The lead of each process, in ms: slots are reserved this far ahead, so that they have not passed when the log has been
 * written. The lead is a moving average of the latency of these writes, times `LEAD_MARGIN`.
 */
const leadOf = processMemory(() => ({ ms: FIRST_LEAD_MS }))
const FIRST_LEAD_MS = 15
const LEAD_MS_MIN = 5
const LEAD_MS_MAX = 500
const LEAD_MARGIN = 1.5
/** Each further reservation in a write keeps the process busy for about this long. */
const LEAD_EACH_MS = 1
/** The weight of a new measurement in the moving average. */
const LATENCY_WEIGHT = 0.3

function noteLatency({ limits }: System, ms: number): void {
  const lead = leadOf(limits)
  const average = lead.ms * (1 - LATENCY_WEIGHT) + ms * LEAD_MARGIN * LATENCY_WEIGHT
  lead.ms = Math.min(LEAD_MS_MAX, Math.max(LEAD_MS_MIN, average))
}

/** Doubles the lead after a missed slot, so that the next slots are reserved further ahead. */
export function noteMissedSlot({ limits }: System): void {
  const lead = leadOf(limits)
  lead.ms = Math.min(LEAD_MS_MAX, lead.ms * 2)
}

/**
 * Reserves one slot under a rate limit: the earliest one that the limit allows, some milliseconds ahead. Calls that
 * are made while this process writes the limit's log share the next write.
 *
 * @throws BatonError `contended` when other processes were faster a hundred times in a row.
 */
export async function reserveSlot(system: System, limited: NamedLimit<RateLimit>): Promise<Slot> {
  const outcome = await askFor(system, limited, false)
  if ('at' in outcome) return outcome
  throw new Error(`no slot was reserved under ${limited.name}, although the caller accepts any time`)
}

/** Like `reserveSlot`, but reserves a slot only if one is free now. */
export function reserveFreeSlot(system: System, limited: NamedLimit<RateLimit>): Promise<Slot | NoFreeSlot> {
  return askFor(system, limited, true)
}

function askFor(
  system: System,
  limited: NamedLimit<RateLimit>,
  onlyFree: boolean,
): Promise<Slot | NoFreeSlot> {
  const lists = waitListsOf(system.limits)
  const name = `${limited.name} ${rateText(limited.limit)}`
  const existing = lists.get(name)
  const list = existing ?? { waiting: [] }
  lists.set(name, list)
  const reserved = new Promise<Slot | NoFreeSlot>((resolve, reject) => {
    list.waiting.push({ onlyFree, resolve, reject })
  })
  if (!existing) void serveWaitList(system, limited, list, () => lists.delete(name))
  return reserved
}

/** Serves the wait list until it is empty, then calls `leave` at once. A caller that asks after that begins a new list. */
async function serveWaitList(
  system: System,
  limited: NamedLimit<RateLimit>,
  list: WaitList,
  leave: () => void,
): Promise<void> {
  while (list.waiting.length > 0) {
    let served: Request[] = []
    try {
      const outcomes = await reserveFor(system, limited, () => {
        served = [...served, ...list.waiting]
        list.waiting = []
        return served
      })
      for (const [nth, outcome] of outcomes.entries()) served[nth]?.resolve(outcome)
    } catch (error) {
      for (const { reject } of [...served, ...list.waiting]) reject(error)
      list.waiting = []
    }
  }
  leave()
}

/**
 * Returns one outcome for each request that waits when the log has been read. Requests for a free slot get the first
 * slots. The other requests get theirs in the order of the calls.
 */
async function reserveFor(
  system: System,
  limited: NamedLimit<RateLimit>,
  takeAll: () => readonly Request[],
): Promise<Array<Slot | NoFreeSlot>> {
  let stored: StoredSlotLog = await system.limits.slots(limited.name)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const served = takeAll()
    const reserved = await tryOnce(system, limited, stored, served)
    if (Array.isArray(reserved)) return reserved
    stored = reserved
    await system.clock.sleep(ROUND_PAUSE_MS_MAX * system.chance.fraction())
  }
  throw new BatonError(
    'contended',
    `no slot of the limit ${limited.name} was reserved: other processes were faster at every try`,
  )
}

/** The outcomes of one write, or the stored log when another process was faster. */
async function tryOnce(
  system: System,
  { name, limit }: NamedLimit<RateLimit>,
  stored: StoredSlotLog,
  served: readonly Request[],
): Promise<Array<Slot | NoFreeSlot> | StoredSlotLog> {
  const begunAt = system.clock.now()
  const leadMs = leadOf(system.limits).ms + served.length * LEAD_EACH_MS
  const earliest = begunAt + Math.ceil(Math.min(LEAD_MS_MAX, leadMs))
  const onlyFree = served.filter(request => request.onlyFree).length
  const asked = { onlyFree, anyTime: served.length - onlyFree }
  const decided = decideReservation(stored.log, limit, earliest, asked)
  if (decided.kind === 'none-free') return outcomesOf(served, decided)
  if (decided.kind === 'book-ahead') {
    return bookAhead(system, { name, limit }, { ...stored, log: decided.log }, served, asked.anyTime)
  }
  const expiresAt = (decided.anyTime.at(-1)?.at ?? earliest) + lifeMs(limit)
  const newer = await system.limits.putSlots(name, decided.log, stored, expiresAt)
  noteLatency(system, system.clock.now() - begunAt)
  return newer ?? outcomesOf(served, decided)
}

function lifeMs({ perMs }: RateLimit): number {
  return Math.max(LOG_LIFE_MS_MIN, LOG_LIFE_PERIODS * perMs)
}

/**
 * Reserves `count` slots by increasing the log's counter. While the next free slot lies some time ahead, the time of
 * each further slot follows from its number. So writes of several processes at one moment all succeed.
 */
async function bookAhead(
  system: System,
  { name, limit }: NamedLimit<RateLimit>,
  { log, version }: { readonly log: SlotLog; readonly version: number },
  served: readonly Request[],
  count: number,
): Promise<Array<Slot | NoFreeSlot> | StoredSlotLog> {
  const now = system.clock.now()
  const [last] = bookedSlots(log, limit, now, { from: log.bookedAhead + count, count: 1 })
  const bookedAfter = await system.limits.countSlots(name, version, count, (last?.at ?? now) + lifeMs(limit))
  if (bookedAfter === undefined) return system.limits.slots(name)
  const counted = bookedSlots(log, limit, system.clock.now(), { from: bookedAfter - count, count })
  const anyTime = counted.flatMap(slot => slot ?? [])
  // Some of the counted slots have passed already. The next round then writes a new log.
  if (anyTime.length < count) return system.limits.slots(name)
  const someGetNoSlot = served.length > count
  const notBefore = someGetNoSlot ? nextSlot({ ...log, bookedAhead: bookedAfter }, limit, now) : undefined
  return outcomesOf(served, { anyTime, notBefore })
}

/** The outcome of each request, in order: its slot, or `notBefore` for a request that gets no free slot. */
function outcomesOf(
  served: readonly Request[],
  {
    free = [],
    anyTime = [],
    notBefore = 0,
  }: {
    readonly free?: readonly Slot[]
    readonly anyTime?: readonly Slot[]
    readonly notBefore?: number | undefined
  },
): Array<Slot | NoFreeSlot> {
  const left = { free: free.values(), anyTime: anyTime.values() }
  return served.map(({ onlyFree }) => (onlyFree ? left.free : left.anyTime).next().value ?? { notBefore })
}
