/**
 * Limits: how many tasks of a type may start in a period (rate limit), and how many may run at one time (concurrency limit).
 *
 * Many processes claim at once, and no process owns a limit. So each limit is stored in the table, and all processes change it by
 * conditional writes. With a `key`, such as `userId`, each value of that field has a limit of its own. A claim asks all limits of its task
 * before it is written: `admit` below. The two kinds of limits differ only in what they count.
 *
 * |                  | rate limit                                           | concurrency limit                          |
 * | ---------------- | ---------------------------------------------------- | ------------------------------------------ |
 * | grants           | slots: one start at one time                         | permits: one run from its start to its end |
 * | records          | the slots of the last period and of the next seconds | one holder for each run                    |
 * | what is not used | is given back: the log grants another slot instead   | is given back, or removed after 10 s       |
 * | grants again     | when the period has passed                           | when a run ends                            |
 *
 * Lines
 *
 * - A task that a limit refuses waits in the line of the limit: a place in the index, in the order of its type, with as many partitions as
 *   the ready place. The task holds no booking. So cancelled, changed or expired tasks, and changed limits, leave no hole.
 * - If workers take the tasks of a type in order, and the limit counts the whole type, then the ready place is the line, and nothing is
 *   written to the tasks.
 * - A line with tasks has a note. While the note says that the line is closed, a newcomer joins it at once, so it does not overtake. A
 *   process remembers a note for a second. A look opens the line again when the limit has more to grant than tasks wait.
 *
 * Looks
 *
 * - The note begins a series of looks. Each look computes how many starts the limit can grant until the next one, and dispatches as many
 *   tasks from the front of the line. It writes nothing to the tasks: the claim takes the task out of the line. A task that has found no
 *   grant stays where it is.
 * - The note remembers which tasks were dispatched. These are not dispatched again for 4 s, then for 8 s, and so on. So a lost message
 *   costs seconds, and a task that no worker can claim does not block those behind it.
 * - The next look comes when the limit can grant the next start: for a slot 1 to 2 s before it. For permits, each release makes the planner
 *   send a look, and one comes every 15 s. A look of a series writes the time of the next one to the note. Another look of the same time
 *   then ends, so each line has one series.
 * - HTTP workers ask for tasks themselves. For them a look ends the wait, which returns the task to its ready place. Targeted tasks have
 *   markers. A look counts them as dispatched, so that a grant is left for them.
 * - A line whose limit does not exist any more is emptied by its looks. The claims that follow ask the present limits.
 * - The notes are in an index by the time of the next look. The sweeper begins each series again that is late by 20 s.
 *
 * Slots
 *
 * - Two slots that are `limit` positions apart lie at least a period apart, so the limit holds for every span of time.
 * - A claim reserves only a slot that it can wait for in place: at most 2 s ahead, or 7.5 s in a standalone worker. The slot lies some
 *   milliseconds ahead, since it would otherwise pass during the write. Each process measures this lead. Calls that arrive while their
 *   process writes the log share its next write.
 * - The claim is written up to 250 ms before the slot, and its handler begins at the slot. A claim that is more than 3 % of the period
 *   late misses its slot, gives it back and reserves another one. After five missed slots in a row the task joins the line.
 * - If the task has changed meanwhile, the changed task uses the slot. If it cannot be claimed any more, the slot is given back.
 *
 * Permits
 *
 * - A claim records a holder before its write, and each change that ends a run removes the holder (`PERMIT_HOOK`).
 * - Looks remove what dead processes leave: a holder whose task has no run with its permit, once it is 10 s old. A claim that took more
 *   than 5 s therefore confirms its permits before the handler begins.
 *
 * Read in this order:
 * - `admit` below, with `limitRulesOf` of `line.ts`: which limits and pauses apply to a task
 * - `start.ts`: how a claim gets its slots. `reserve-slots.ts` writes the slot log. `oneAtATime` of `line.ts` spaces the starts of one process
 * - `permits.ts`: takes and releases permits
 * - `line.ts`: how tasks join a line. `serve-limit-looks.ts`: the looks at lines. `core/limits/line.ts` decides for both
 * - `limit-usage.ts`: what of a limit is used, and which limit holds a task back, for readers
 */

import { isInLine } from '../../core/limits/limits.ts'
import type { Line } from '../../core/limits/line.ts'
import type { ReservedSlot } from '../../core/limits/slots.ts'
import type { Permit, Task } from '../../core/task/task.ts'
import type { Patience } from '../kernel/kernel.ts'
import { type Moment, momentOf, type System, sleepUntil } from '../kernel/system.ts'
import {
  areRulesFresh,
  holdBack,
  isAskedForAgain,
  isLimited,
  isLineClosed,
  type LimitRules,
  limitRulesOf,
  linesOf,
  noteLine,
  oneAtATime,
  waitsReady,
} from './line.ts'
import { type Acquired, acquirePermits, confirmPermits, releasePermits } from './permits.ts'
import { noteMissedSlot } from './reserve-slots.ts'
import { giveBackSlots, reserveStart, type SlotUse, startIn } from './start.ts'

/** The answer of limits that allow a run to begin: what they have granted to it. */
export type Admitted = {
  readonly ok: true
  readonly permits: readonly Permit[]
  readonly slots: readonly ReservedSlot[]
  /** A moment before the first permit was taken. */
  readonly heldSince: Moment
  /** When the run starts as the rate limits count it. Undefined when no rate limit counts it. */
  readonly startsAt: number | undefined
  /** Whether any limit counts the run. */
  readonly isLimited: boolean
  /** For each of the task's types, a moment not after it was read. */
  readonly readAt: readonly Moment[]
}

/** Why no run may begin. */
export type NotAdmitted = {
  readonly ok: false
  /** `being-claimed`: another worker has been admitted and is about to claim the task. */
  readonly reason: 'paused' | 'rate-limit' | 'concurrency-limit' | 'being-claimed'
  /** The name of the limit that refused the start. */
  readonly limit?: string
  /** When a slot of that limit may be free. */
  readonly notBefore?: number
}

/** How a claim asks limits, and how long it may take. */
export type AskingLimits = { readonly slotUse: SlotUse; readonly patience: Patience | undefined }

/**
 * Asks the limits of the task's types whether a run may begin. Each rate limit must grant a slot, and each concurrency limit a permit. A
 * refused task waits in the line of the limit that refused it.
 *
 * Permits are taken last, so that a task that waits for its slot holds none. A task that another worker is about to claim is left as it
 * is: the write would make that worker's claim fail, so two workers that keep asking could keep each other from the task for ever.
 */
export async function admit(
  system: System,
  task: Task,
  rules: LimitRules,
  asking: AskingLimits,
): Promise<Admitted | NotAdmitted> {
  if (!isLimited(rules)) return granted(rules, { permits: [], since: momentOf(system.clock) }, [])
  const closed = await closedLine(system, task, rules, asking.slotUse)
  if (closed) return refuse(system, task, closed, asking)
  const takesPermits = rules.concurrencies.length > 0
  const reserved = await reserveStart(system, rules.rates, asking.slotUse, takesPermits)
  if (!reserved.ok) return refuse(system, task, reserved.line, asking, reserved.notBefore)
  const admission = await admitInSlots(system, task, rules, { ...asking, slots: reserved.slots }).catch(
    async error => {
      await giveBackSlots(system, reserved.slots)
      throw error
    },
  )
  if (!admission.ok) await giveBackSlots(system, reserved.slots)
  return admission
}

/** Takes the permits for a start in these slots. */
async function admitInSlots(
  system: System,
  task: Task,
  asked: LimitRules,
  { slots, ...asking }: AskingLimits & { readonly slots: readonly ReservedSlot[] },
): Promise<Admitted | NotAdmitted> {
  // The types may have changed while the claim waited for its slots.
  const rules = slots.length > 0 ? await limitRulesOf(system, task) : asked
  if (rules.isPaused) return { ok: false, reason: 'paused' }
  if (JSON.stringify(rules.rates) !== JSON.stringify(asked.rates)) return admit(system, task, rules, asking)
  const acquired = await acquireOrNote(system, task, rules)
  if (!acquired.ok) {
    const { why, limit } = acquired
    if (why === 'being-claimed') return { ok: false, reason: why, limit }
    return refuse(system, task, { kind: 'permit', limit }, asking)
  }
  if (slots.length > 0) await oneAtATime(system, 'starts')
  const startsAt = startIn(system, slots)
  if (startsAt !== undefined) return granted(rules, acquired, slots, startsAt)
  noteMissedSlot(system)
  await releasePermits(system, acquired.permits)
  const [missed] = slots
  return refuse(system, task, { kind: 'slot', limit: missed?.limited.name ?? '' }, asking, system.clock.now())
}

/**
 * Takes a permit of each concurrency limit. When one is used up, the line is noted, and the permits are asked for once more: a permit that
 * was released before the note has caused no look.
 */
async function acquireOrNote(system: System, task: Task, { concurrencies }: LimitRules): Promise<Acquired> {
  const acquired = await acquirePermits(system, task, concurrencies)
  if (acquired.ok || acquired.why === 'being-claimed') return acquired
  const line: Line = { kind: 'permit', limit: acquired.limit }
  if (isAskedForAgain(task, line)) {
    // HTTP workers ask again for tasks of a ready place. Then looks are only needed to remove what dead processes have left.
    if (acquired.hasOldHolders) await noteLine(system, line, { isRepair: true })
    return acquired
  }
  if (isInLine(task, line) || (await isLineClosed(system, line))) return acquired
  await noteLine(system, line)
  return acquirePermits(system, task, concurrencies)
}

/** A line that the task must join before it asks the limit, because others have waited longer. */
async function closedLine(
  system: System,
  task: Task,
  rules: LimitRules,
  { kind, isBest }: SlotUse,
): Promise<Line | undefined> {
  if (isBest || kind === 'only-free-slot') return undefined
  const lines = linesOf(rules).filter(line => !isInLine(task, line) && !waitsReady(task, line))
  const closed = await Promise.all(lines.map(line => isLineClosed(system, line)))
  return lines.find((_line, nth) => closed[nth])
}

async function refuse(
  system: System,
  task: Task,
  line: Line,
  { patience }: AskingLimits,
  notBefore?: number,
): Promise<NotAdmitted> {
  await holdBack(system, task, line, { grantAt: notBefore, patience })
  const { kind, limit } = line
  if (kind === 'permit') return { ok: false, reason: 'concurrency-limit', limit }
  return { ok: false, reason: 'rate-limit', limit, ...(notBefore !== undefined && { notBefore }) }
}

function granted(
  { rates, concurrencies, readAt }: LimitRules,
  { permits, since }: Pick<Extract<Acquired, { ok: true }>, 'permits' | 'since'>,
  slots: readonly ReservedSlot[],
  startsAt?: number,
): Admitted {
  const isCounted = rates.length + concurrencies.length > 0
  const at = rates.length > 0 ? startsAt : undefined
  return { ok: true, permits, slots, heldSince: since, startsAt: at, isLimited: isCounted, readAt }
}

/** Gives back what the limits have granted to a claim that was not written. */
export async function giveBack(system: System, { permits, slots }: Admitted): Promise<void> {
  await Promise.all([releasePermits(system, permits), giveBackSlots(system, slots)])
}

/**
 * Waits for the granted start of a claimed task. Returns why its run must not begin now, or undefined when it may. The types are read
 * again when a pause may have been acknowledged since.
 */
export async function waitForStart(
  system: System,
  task: Task,
  admitted: Admitted,
): Promise<'paused' | 'concurrency-limit' | undefined> {
  const { startsAt, permits, heldSince } = admitted
  if (startsAt !== undefined) await sleepUntil(system.clock, startsAt)
  if (!areRulesFresh(system, admitted) && (await limitRulesOf(system, task)).isPaused) return 'paused'
  return (await confirmPermits(system, permits, heldSince)) ? undefined : 'concurrency-limit'
}
