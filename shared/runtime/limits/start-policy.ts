import { WORKER_VISIBILITY_S } from '../../core/bounds.ts'
import { isUsable, rateText } from '../../core/limits/slots.ts'
import { endWait, throttle } from '../../core/limits/wait.ts'
import { isSamePiece } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { Slot } from '../../core/task/wait.ts'
import type { RateLimit } from '../../core/types/task-type.ts'
import { applyChange } from '../kernel/apply-change.ts'
import { transact } from '../kernel/kernel.ts'
import { sleepUntil } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import type { LimitRules, NamedLimit } from './limits.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { noteMissedSlot, reserveSlot, reserveSlotNow, type SlotUnavailable } from './reserve-slots.ts'

type Rates = ReadonlyArray<NamedLimit<RateLimit>>

/** How a task begins that rate limits, all of them at once, have a say in. */
export type StartPolicy = {
  /** Answers shortly before the task may begin, with its turn if it has one by then; `far`: it is to be sent again then. */
  awaitSlot?(system: System, task: Task, terms: LimitRules): Promise<ReservedSlot | 'far' | undefined>
  /** With the turn that it came near to. Undefined when it cannot begin now, and its turn is seen to. */
  start(
    system: System,
    task: Task,
    rates: Rates,
    near?: ReservedSlot,
  ): Promise<Start | SlotUnavailable | undefined>
}

/** Waits until `time` for a turn that would else be written down and sent for; at most until it closes, and not when it is full. */
export type WaitList = (time: number) => Promise<void>

/**
 * A start that limits have granted, and when: the run counts as begun then, however long its claim takes to be written. It may
 * be written a little before: the handler has to wait for that time.
 */
type Start = { readonly at: number }

/** A turn that comes within this time is waited for; what comes later goes back to its queue until then, */
const MAX_WAIT_MS = 1_000
/** or waits in a worker for up to this time, while its dispatch is hidden from the others. */
const MAX_STAY_MS = (WORKER_VISIBILITY_S * 1_000) / 2
/** Turns that may be missed in a row before the task waits for one that is recorded with it. */
const MAX_MISSED = 5
/** Dispatches come early by less than this. */
const MAX_EARLY_MS = 2_000
/** Permits are taken so long before a turn: who waits for it keeps nobody else from running. */
const NEAR_MS = 100
/** A claim is written from so long before its turn on: processes get no processor for a tenth of a second now and then. */
const AHEAD_MS = 250

/** A turn under a limit: reserved for whoever asked, or one that a task has waited for. */
export type ReservedSlot = { readonly limited: NamedLimit<RateLimit>; readonly slot: Slot }

/** For a worker that was sent one task: it begins now, or waits for a slot of its own, in the room or to be sent again. */
export function startInOwnSlot(room?: WaitList): StartPolicy {
  return { awaitSlot: (system, task, terms) => comeNear(system, task, terms, room), start: startAtSlot }
}

async function comeNear(
  system: System,
  task: Task,
  { rates, concurrencies }: LimitRules,
  room: WaitList | undefined,
): Promise<ReservedSlot | 'far' | undefined> {
  const { clock } = system
  const kept = ownTurn(task, rates)
  const own = kept && clock.now() > kept.slot.at && !areUsable([kept], clock.now()) ? undefined : kept
  // Whoever finds it before its turn must not put it off by reserving another one.
  if (own && own.slot.at - clock.now() >= MAX_EARLY_MS) return 'far'
  if (own) await sleepUntil(clock, own.slot.at - (concurrencies.length > 0 ? NEAR_MS : AHEAD_MS))
  if (own || !room) return own
  const [only, ...others] = rates
  // A turn that comes while another limit lets nothing begin would be lost.
  if (!only || others.length + concurrencies.length > 0) return undefined
  return reserveAndStay(system, task, only, room)
}

async function reserveAndStay(
  system: System,
  task: Task,
  limited: NamedLimit<RateLimit>,
  room: WaitList,
): Promise<ReservedSlot | 'far'> {
  const turn = await reserveSlot(system, limited)
  const leftMs = () => turn.at - system.clock.now()
  const mayStay = leftMs() > AHEAD_MS && leftMs() < MAX_STAY_MS
  if (mayStay) await room(turn.at - AHEAD_MS)
  if (leftMs() < MAX_WAIT_MS) return { limited, slot: turn }
  await waitForTurn(system, task, { limited, slot: turn })
  return 'far'
}

async function startAtSlot(
  system: System,
  task: Task,
  rates: Rates,
  near?: ReservedSlot,
): Promise<Start | undefined> {
  const own = near ?? ownTurn(task, rates)
  if (own) await sleepUntil(system.clock, own.slot.at - aheadMs(rates))
  for (let nth = 0; ; nth++) {
    const turns = await turnsFor(system, rates, own)
    const last = turns.at(-1)
    if (last && (nth === MAX_MISSED || last.slot.at - system.clock.now() >= MAX_WAIT_MS)) {
      return waitForTurn(system, task, last)
    }
    const start = await startAt(system, turns)
    if (start) return start
  }
}

/** For those who take what may begin now, and ask again. */
export const startAtOnce: StartPolicy = {
  // The first one of a process is often missed, and the next is taken further ahead.
  start: async (system, _task, rates) => (await startNow(system, rates)) ?? startNow(system, rates),
}

async function startNow(system: System, rates: Rates): Promise<Start | SlotUnavailable | undefined> {
  const turns: ReservedSlot[] = []
  for (const limited of rates) {
    const turn = await reserveSlotNow(system, limited)
    if ('notBefore' in turn) return turn
    turns.push({ limited, slot: turn })
  }
  return startAt(system, turns.sort(byTime))
}

/**
 * For those who were sent tokens, each naming a task, and take the best task instead: a turn that a named task has
 * waited for is spent on the better one, and the named task waits anew. Named tasks themselves wait for turns.
 */
export function startByTickets(named: readonly Task[]): StartPolicy {
  const left = [...named]
  return {
    start: async (system, task, rates) => {
      const granted = await grantedTurns(system, task, left, rates)
      const missing = rates.filter(limited => !granted.some(one => one.limited === limited))
      if (missing.length === 0) return startAt(system, granted)
      // Its own turn is still to come, and brings a token of its own.
      if (task.wait?.kind === 'slot' && task.wait.at > system.clock.now()) return undefined
      const starting = named.some(({ id }) => id === task.id) ? startInOwnSlot() : startAtOnce
      const start = await starting.start(system, task, missing)
      return start && 'at' in start && areUsable(granted, start.at) ? start : undefined
    },
  }
}

/** The task's own turns, or those of some of `left`, which leave these. */
async function grantedTurns(system: System, task: Task, left: Task[], rates: Rates): Promise<ReservedSlot[]> {
  const granted: ReservedSlot[] = []
  for (const limited of rates) {
    const turn = usableTurn(system, task, limited) ?? (await turnOfAnother(system, task, left, limited))
    if (turn) granted.push({ limited, slot: turn })
  }
  return granted
}

async function turnOfAnother(
  system: System,
  task: Task,
  left: Task[],
  limited: NamedLimit<RateLimit>,
): Promise<Slot | undefined> {
  for (const other of left.filter(one => one.id !== task.id && usableTurn(system, one, limited))) {
    left.splice(left.indexOf(other), 1)
    if (await spend(system, other)) return usableTurn(system, other, limited)
  }
  return undefined
}

/** The turn is used once: whoever ends the wait of the task it was reserved for has it. */
async function spend(system: System, task: Task): Promise<boolean> {
  const ended = endWait(task, system.clock.now())
  return ended.ok && (await applyChange(system, ended.change)).applied
}

/** The task's own turn as long as it can be used, and a new one for each other limit, by time. */
async function turnsFor(
  system: System,
  rates: Rates,
  own: ReservedSlot | undefined,
): Promise<ReservedSlot[]> {
  const isOwnUsable = own !== undefined && startingTime([own], system.clock.now()) !== undefined
  const turns: ReservedSlot[] = []
  for (const limited of rates) {
    const isCovered = isOwnUsable && isUnder(own.limited.name, own.slot, limited)
    const turn = isCovered ? own.slot : await reserveSlot(system, limited)
    turns.push({ limited, slot: turn })
  }
  return turns.sort(byTime)
}

/** Waits until the last of turns is near; undefined when one was missed. */
async function startAt(system: System, turns: readonly ReservedSlot[]): Promise<Start | undefined> {
  const { clock } = system
  const last = turns.at(-1)
  if (last) await sleepUntil(clock, last.slot.at - aheadMs(turns))
  const at = startingTime(turns, clock.now())
  if (at === undefined) {
    noteMissedSlot(system)
    return undefined
  }
  await oneAtATime(system, 'starts')
  return { at }
}

/** How long before a turn a claim may be written: of several turns, those that are missed are had anew when the last one comes. */
function aheadMs(limits: readonly unknown[]): number {
  return limits.length > 1 ? 0 : AHEAD_MS
}

/** When a run with these turns may begin, as soon as it can; undefined when one has passed by then. */
function startingTime(turns: readonly ReservedSlot[], now: number): number | undefined {
  const at = Math.max(now, ...turns.map(({ slot: turn }) => turn.at))
  return areUsable(turns, at) ? at : undefined
}

function areUsable(turns: readonly ReservedSlot[], now: number): boolean {
  return turns.every(({ limited, slot: turn }) => isUsable(turn, limited.limit, now))
}

function byTime(a: ReservedSlot, b: ReservedSlot): number {
  return a.slot.at - b.slot.at
}

async function waitForTurn(
  system: System,
  task: Task,
  { limited, slot: turn }: ReservedSlot,
): Promise<undefined> {
  await oneAtATime(system, 'waits')
  await transact(system, task, current =>
    current && isSamePiece(task, current)
      ? throttle(current, { ...turn, limit: limited.name }, system.clock.now())
      : { ok: false as const, reason: 'finished' as const },
  )
  return undefined
}

function usableTurn({ clock }: System, task: Task, limited: NamedLimit<RateLimit>): Slot | undefined {
  const own = ownTurn(task, [limited])?.slot
  return own && isUsable(own, limited.limit, clock.now()) ? own : undefined
}

/** The turn that the task waits for, under a limit as it is now; it may have passed. */
function ownTurn({ wait }: Task, rates: Rates): ReservedSlot | undefined {
  if (wait?.kind !== 'slot') return undefined
  const limited = rates.find(one => isUnder(wait.limit, wait, one))
  return limited && { limited, slot: wait }
}

function isUnder(name: string, { rateText: terms }: Slot, limited: NamedLimit<RateLimit>): boolean {
  return name === limited.name && terms === rateText(limited.limit)
}
