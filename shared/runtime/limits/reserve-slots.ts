import type { NamedLimit } from '../../core/limits/limits.ts'
import type { SlotRequest, StoredSlotLog } from '../../core/limits/slots.ts'
import { nextSlot, rateText, reserveSlots, withoutSlots } from '../../core/limits/slots.ts'
import type { Slot } from '../../core/task/task.ts'
import type { RateLimit } from '../../core/types/task-type.ts'
import { BatonError } from '../../core/values/values.ts'
import { processMemory, type System } from '../kernel/system.ts'

/**
 * Reserves slots of a rate limit, and gives back those that no start has used. All processes write one slot log per limit with optimistic
 * locking. Within one process, the requests that arrive while the log is written are served together by the next write.
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

/** No slot is near enough. One may be free at `notBefore`. */
type NoNearSlot = { readonly notBefore: number }

type Request = (SlotRequest | { readonly giveBack: Slot }) & {
  resolve(outcome: Slot | NoNearSlot): void
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
 * Reserves one slot under a rate limit: the earliest one that the limit allows, some milliseconds ahead, if it is as near as the request
 * says. A request may give a slot back instead. Calls that are made while this process writes the limit's log share the next write.
 *
 * @throws BatonError `contended` when other processes were faster a hundred times in a row.
 */
export function reserveSlot(
  system: System,
  limited: NamedLimit<RateLimit>,
  request: SlotRequest | { readonly giveBack: Slot },
): Promise<Slot | NoNearSlot> {
  const lists = waitListsOf(system.limits)
  const name = `${limited.name} ${rateText(limited.limit)}`
  const existing = lists.get(name)
  const list = existing ?? { waiting: [] }
  lists.set(name, list)
  const served = new Promise<Slot | NoNearSlot>((resolve, reject) => {
    list.waiting.push({ ...request, resolve, reject })
  })
  if (!existing) void serveWaitList(system, limited, list, () => lists.delete(name))
  return served
}

/** Gives back a slot that no start has used. Never fails: a slot that is not given back only counts as used. */
export async function giveBackSlot(
  system: System,
  limited: NamedLimit<RateLimit>,
  slot: Slot,
): Promise<void> {
  try {
    await reserveSlot(system, limited, { giveBack: slot })
  } catch (error) {
    system.log.debug('a slot was not given back', { limit: limited.name, error })
  }
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
      const outcomes = await serveAll(system, limited, () => {
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

/** Returns one outcome for each request that waits when the log has been read. */
async function serveAll(
  system: System,
  limited: NamedLimit<RateLimit>,
  takeAll: () => readonly Request[],
): Promise<ReadonlyArray<Slot | NoNearSlot>> {
  let stored: StoredSlotLog = await system.limits.slots(limited.name)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const outcome = await tryOnce(system, limited, stored, takeAll())
    if ('outcomes' in outcome) return outcome.outcomes
    stored = outcome
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
): Promise<{ readonly outcomes: ReadonlyArray<Slot | NoNearSlot> } | StoredSlotLog> {
  const begunAt = system.clock.now()
  const returned = served.flatMap(request => ('giveBack' in request ? [request.giveBack] : []))
  const asked = served.flatMap(request => ('giveBack' in request ? [] : [request]))
  const leadMs = leadOf(system.limits).ms + asked.length * LEAD_EACH_MS
  const earliest = begunAt + Math.ceil(Math.min(LEAD_MS_MAX, leadMs))
  const { log: before } = stored
  const log = before && returned.length > 0 ? withoutSlots(before, limit, returned, begunAt) : before
  const { slots, notBefore, ...next } = reserveSlots(log, limit, earliest, asked)
  const left = slots.values()
  const outcomes = served.map(request =>
    'giveBack' in request ? request.giveBack : (left.next().value ?? { notBefore }),
  )
  if (log === before && !slots.some(Boolean)) return { outcomes }
  const lastAt = Math.max(earliest, ...slots.map(slot => slot?.at ?? 0), nextSlot(next.log, limit, earliest))
  const given = slots.filter(Boolean).length
  // A slot that is reserved instead of a missed one is no further start.
  const granted = Math.max(before?.granted ?? 0, next.log.granted)
  const newer = await system.limits.putSlots(name, { ...next.log, granted }, stored, {
    ...{ expiresAt: lastAt + lifeMs(limit), returned: Math.max(0, returned.length - given) },
  })
  noteLatency(system, system.clock.now() - begunAt)
  return newer ?? { outcomes }
}

function lifeMs({ perMs }: RateLimit): number {
  return Math.max(LOG_LIFE_MS_MIN, LOG_LIFE_PERIODS * perMs)
}
