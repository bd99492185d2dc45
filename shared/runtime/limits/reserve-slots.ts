import { BatonError } from '../../core/errors.ts'
import {
  bookedSlots,
  isBookedAhead,
  nextSlot,
  reserveSlots,
  type SlotLog,
  type StoredSlots,
} from '../../core/limits/slots.ts'
import type { Slot } from '../../core/task/wait.ts'
import type { RateLimit } from '../../core/types/task-type.ts'
import type { LimitStore } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import type { NamedLimit } from './limits.ts'

/**
 * Reserves slots of a rate limit. All processes write one slot log per limit with optimistic locking. Within one process,
 * the requests that arrive while the log is written are served together by the next write.
 */

/**
 * A round is one try to write the log. It is lost when another process wrote first. Each process writes once for all its
 * waiting requests, so no more writers compete than there are processes.
 */
const ROUNDS_MAX = 100
const ROUND_PAUSE_MS_MAX = 40
/** The log expires when its slots no longer limit later ones: two periods after the last slot. */
const LOG_LIFE_PERIODS = 2
const LOG_LIFE_MS_MIN = 60_000

/** No slot is free now. One may be free at `notBefore`. */
export type SlotUnavailable = { readonly notBefore: number }

type Reservation = {
  readonly onlyNow: boolean
  resolve(outcome: Slot | SlotUnavailable): void
  reject(error: unknown): void
}

/** The reservations of this process that wait while a limit's log is written. */
type Line = { waiting: Reservation[] }

/** The lines by limit. A line exists only while this process writes that limit's log. */
const lines = new WeakMap<LimitStore, Map<string, Line>>()

/**
 * The lead of each process, in ms: slots are reserved this far ahead, so that they have not passed when the log has been
 * written. The lead is a moving average of the latency of these writes, times `LEAD_MARGIN`.
 */
const leads = new WeakMap<LimitStore, number>()
const FIRST_LEAD_MS = 15
const LEAD_MS_MIN = 5
const LEAD_MS_MAX = 500
const LEAD_MARGIN = 1.5
/** Each further reservation in a write keeps the process busy for about this long. */
const LEAD_EACH_MS = 1
/** The weight of a new measurement in the moving average. */
const LATENCY_WEIGHT = 0.3

function leadOf({ limits }: System): number {
  return leads.get(limits) ?? FIRST_LEAD_MS
}

function noteLatency(system: System, ms: number): void {
  const lead = leadOf(system) * (1 - LATENCY_WEIGHT) + ms * LEAD_MARGIN * LATENCY_WEIGHT
  leads.set(system.limits, Math.min(LEAD_MS_MAX, Math.max(LEAD_MS_MIN, lead)))
}

/** Doubles the lead after a slot has passed before it could be used, so that the next slots are reserved further ahead. */
export function noteMissedSlot(system: System): void {
  leads.set(system.limits, Math.min(LEAD_MS_MAX, leadOf(system) * 2))
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
export function reserveSlotNow(
  system: System,
  limited: NamedLimit<RateLimit>,
): Promise<Slot | SlotUnavailable> {
  return askFor(system, limited, true)
}

function askFor(
  system: System,
  limited: NamedLimit<RateLimit>,
  onlyNow: boolean,
): Promise<Slot | SlotUnavailable> {
  const ofStore = lines.get(system.limits) ?? new Map<string, Line>()
  lines.set(system.limits, ofStore)
  const name = `${limited.name} ${limited.limit.limit}/${limited.limit.perMs}`
  const served = ofStore.get(name)
  const line = served ?? { waiting: [] }
  ofStore.set(name, line)
  const reserved = new Promise<Slot | SlotUnavailable>((resolve, reject) => {
    line.waiting.push({ onlyNow, resolve, reject })
  })
  if (!served) {
    void serveLine(system, limited, line, () => ofStore.delete(name))
  }
  return reserved
}

/**
 * Serves the line until it is empty, then calls `leave` at once. A caller that asks after that begins a new line.
 */
async function serveLine(
  system: System,
  limited: NamedLimit<RateLimit>,
  line: Line,
  leave: () => void,
): Promise<void> {
  while (line.waiting.length > 0) {
    let served: Reservation[] = []
    try {
      const outcomes = await reserveFor(system, limited, () => {
        served = [...served, ...line.waiting]
        line.waiting = []
        return served
      })
      for (const [nth, outcome] of outcomes.entries()) served[nth]?.resolve(outcome)
    } catch (error) {
      for (const { reject } of [...served, ...line.waiting]) reject(error)
      line.waiting = []
    }
  }
  leave()
}

/**
 * One outcome for each reservation that waits when the log has been read. Reservations with `onlyNow` get the first slots;
 * among the others, the order of the calls counts.
 */
async function reserveFor(
  system: System,
  limited: NamedLimit<RateLimit>,
  takeAll: () => readonly Reservation[],
): Promise<Array<Slot | SlotUnavailable>> {
  let stored: StoredSlots = await system.limits.slots(limited.name)
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
  stored: StoredSlots,
  served: readonly Reservation[],
): Promise<Array<Slot | SlotUnavailable> | StoredSlots> {
  const begunAt = system.clock.now()
  const earliest = begunAt + Math.ceil(Math.min(LEAD_MS_MAX, leadOf(system) + served.length * LEAD_EACH_MS))
  const impatient = served.filter(({ onlyNow }) => onlyNow).length
  const patient = served.length - impatient
  const life = Math.max(LOG_LIFE_MS_MIN, LOG_LIFE_PERIODS * limit.perMs)
  if (isBookedAhead(stored.log, limit, earliest)) {
    if (patient === 0) return dealt(served, [], [], () => nextSlot(stored.log, limit, earliest))
    return bookAhead(system, { name, limit }, { ...stored, log: stored.log }, served, { patient, life })
  }
  const first = reserveSlots(stored.log, limit, earliest, { count: impatient, onlyNow: true })
  const rest = reserveSlots(first.log, limit, earliest, { count: patient })
  const next = () => nextSlot(rest.log, limit, earliest)
  if (first.slots.length + rest.slots.length === 0) return dealt(served, [], [], next)
  const last = rest.slots.at(-1)?.at ?? earliest
  const present = await system.limits.putSlots(name, rest.log, stored, last + life)
  noteLatency(system, system.clock.now() - begunAt)
  return present ?? dealt(served, first.slots, rest.slots, next)
}

/**
 * Reserves slots by increasing the log's counter. While all near slots are reserved, the time of each further
 * slot follows from its number. So writes of several processes at one moment all succeed.
 */
async function bookAhead(
  system: System,
  { name, limit }: NamedLimit<RateLimit>,
  { log, version }: { readonly log: SlotLog; readonly version: number },
  served: readonly Reservation[],
  { patient, life }: { readonly patient: number; readonly life: number },
): Promise<Array<Slot | SlotUnavailable> | StoredSlots> {
  const now = system.clock.now()
  const last = bookedSlots(log, limit, now, { from: log.bookedAhead + patient, count: 1 })[0]
  const bookedAfter = await system.limits.countSlots(name, version, patient, (last?.at ?? now) + life)
  if (bookedAfter === undefined) return system.limits.slots(name)
  const counted = bookedSlots(log, limit, system.clock.now(), { from: bookedAfter - patient, count: patient })
  const slots = counted.flatMap(slot => slot ?? [])
  // Some of the counted slots have passed already. The next round then begins the log anew.
  if (slots.length < patient) return system.limits.slots(name)
  return dealt(served, [], slots, () => nextSlot({ ...log, bookedAhead: bookedAfter }, limit, now))
}

/** The outcome of each reservation, in order: its slot, or, for one with `onlyNow` that got none, when to ask again. */
function dealt(
  served: readonly Reservation[],
  nowSlots: readonly Slot[],
  laterSlots: readonly Slot[],
  next: () => number,
): Array<Slot | SlotUnavailable> {
  const left = { now: nowSlots.values(), later: laterSlots.values() }
  let notNow: SlotUnavailable | undefined
  return served.map(({ onlyNow }) => {
    const slot = (onlyNow ? left.now : left.later).next().value
    if (slot) return slot
    notNow ??= { notBefore: next() }
    return notNow
  })
}
