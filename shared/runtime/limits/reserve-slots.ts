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

/** Each lost round means that another process reserved; they are few, and each reserves for all who wait in it. */
const MAX_ROUNDS = 100
const MAX_PAUSE_MS = 40
/** A log is of no use once its starts bind nobody: two periods after the last. */
const LOG_LIFE_PERIODS = 2
const MIN_LOG_LIFE_MS = 60_000

/** A start that cannot be had at once, and when one may be. */
export type SlotUnavailable = { readonly notBefore: number }

type Reservation = {
  readonly onlyNow: boolean
  resolve(outcome: Slot | SlotUnavailable): void
  reject(error: unknown): void
}

/** What waits in this process for a limit's log while it is written; there is no line when nobody writes. */
type Line = { waiting: Reservation[] }

const lines = new WeakMap<LimitStore, Map<string, Line>>()

/**
 * Turns are taken so far ahead that they have not passed when the log has been written, in ms: what writing took lately,
 * and half as much again.
 */
const leads = new WeakMap<LimitStore, number>()
const FIRST_LEAD_MS = 15
const MIN_LEAD_MS = 5
const MAX_LEAD_MS = 500
const MARGIN = 1.5
/** Those who ask together keep their process busy for so much longer. */
const LEAD_EACH_MS = 1
/** A new measurement counts for so much. */
const WEIGHT = 0.3

function leadOf({ limits }: System): number {
  return leads.get(limits) ?? FIRST_LEAD_MS
}

function noteLatency(system: System, ms: number): void {
  const lead = leadOf(system) * (1 - WEIGHT) + ms * MARGIN * WEIGHT
  leads.set(system.limits, Math.min(MAX_LEAD_MS, Math.max(MIN_LEAD_MS, lead)))
}

/** A turn has passed before it could be used: the next ones are taken further ahead. */
export function noteMissedSlot(system: System): void {
  leads.set(system.limits, Math.min(MAX_LEAD_MS, leadOf(system) * 2))
}

/**
 * Reserves one start under a rate limit, as early as it allows, some milliseconds ahead. Those who ask in one process while its
 * log is written share the next write.
 *
 * @throws BatonError `contended` when other processes were quicker a hundred times in a row.
 */
export async function reserveSlot(system: System, limited: NamedLimit<RateLimit>): Promise<Slot> {
  const outcome = await askFor(system, limited, false)
  if ('at' in outcome) return outcome
  throw new Error(`whoever waits for a start under ${limited.name} is given one`)
}

/** As `reserveStart`, but only a start that need not wait for others. */
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

/** `leave` is called in the step that finds the line empty: whoever asks after that begins another one. */
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

/** Turns in the order of those who ask by the time the log has been read; who wants to begin at once goes first. */
async function reserveFor(
  system: System,
  limited: NamedLimit<RateLimit>,
  takeAll: () => readonly Reservation[],
): Promise<Array<Slot | SlotUnavailable>> {
  let stored: StoredSlots = await system.limits.slots(limited.name)
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const served = takeAll()
    const reserved = await tryOnce(system, limited, stored, served)
    if (Array.isArray(reserved)) return reserved
    stored = reserved
    await system.clock.sleep(MAX_PAUSE_MS * system.chance.fraction())
  }
  throw new BatonError(
    'contended',
    `starts under the limit ${limited.name} were reserved by others all the time`,
  )
}

/** The turns, or what is stored by now if others were quicker. */
async function tryOnce(
  system: System,
  { name, limit }: NamedLimit<RateLimit>,
  stored: StoredSlots,
  served: readonly Reservation[],
): Promise<Array<Slot | SlotUnavailable> | StoredSlots> {
  const begunAt = system.clock.now()
  const now = begunAt + Math.ceil(Math.min(MAX_LEAD_MS, leadOf(system) + served.length * LEAD_EACH_MS))
  const impatient = served.filter(({ onlyNow }) => onlyNow).length
  const patient = served.length - impatient
  const life = Math.max(MIN_LOG_LIFE_MS, LOG_LIFE_PERIODS * limit.perMs)
  if (isBookedAhead(stored.log, limit, now)) {
    if (patient === 0) return dealt(served, [], [], () => nextSlot(stored.log, limit, now))
    return countOn(system, { name, limit }, { ...stored, log: stored.log }, served, { patient, life })
  }
  const first = reserveSlots(stored.log, limit, now, { count: impatient, onlyNow: true })
  const rest = reserveSlots(first.log, limit, now, { count: patient })
  const next = () => nextSlot(rest.log, limit, now)
  if (first.slots.length + rest.slots.length === 0) return dealt(served, [], [], next)
  const last = rest.slots.at(-1)?.at ?? now
  const present = await system.limits.putSlots(name, rest.log, stored, last + life)
  noteLatency(system, system.clock.now() - begunAt)
  return present ?? dealt(served, first.slots, rest.slots, next)
}

/** While all starts are spoken for, reserving is counting, and nobody is in anybody's way. */
async function countOn(
  system: System,
  { name, limit }: NamedLimit<RateLimit>,
  { log, version }: { readonly log: SlotLog; readonly version: number },
  served: readonly Reservation[],
  { patient, life }: { readonly patient: number; readonly life: number },
): Promise<Array<Slot | SlotUnavailable> | StoredSlots> {
  const now = system.clock.now()
  const last = bookedSlots(log, limit, now, { from: log.bookedAhead + patient, count: 1 })[0]
  const more = await system.limits.countSlots(name, version, patient, (last?.at ?? now) + life)
  if (more === undefined) return system.limits.slots(name)
  const counted = bookedSlots(log, limit, system.clock.now(), { from: more - patient, count: patient })
  const turns = counted.flatMap(turn => turn ?? [])
  // Of turns that have passed by now nobody can make use; the log is begun anew then.
  if (turns.length < patient) return system.limits.slots(name)
  return dealt(served, [], turns, () => nextSlot({ ...log, bookedAhead: more }, limit, now))
}

/** To each his turn, in order; to those of the impatient who get none, when to ask again. */
function dealt(
  served: readonly Reservation[],
  now: readonly Slot[],
  later: readonly Slot[],
  next: () => number,
): Array<Slot | SlotUnavailable> {
  const left = { now: now.values(), later: later.values() }
  let notNow: SlotUnavailable | undefined
  return served.map(({ onlyNow }) => {
    const turn = (onlyNow ? left.now : left.later).next().value
    if (turn) return turn
    notNow ??= { notBefore: next() }
    return notNow
  })
}
