/**
 * Limits: how many tasks of a type may start in a period (rate limit), and how many may run at one time (concurrency limit).
 *
 * Many processes claim at once, and no process owns a limit. So limits are items of the table, which all of them change by
 * conditional writes. With a `key`, such as `userId`, each value of that field has an item of its own. A claim asks all limits of
 * its task before it is written: `admit` below. A refused task waits, and nothing polls for it:
 *
 * | refused by a      | the task waits for                  | the head records          | what wakes the task                        |
 * | ----------------- | ----------------------------------- | ------------------------- | ------------------------------------------ |
 * | rate limit        | its slot, if that is far ahead      | a `wait` of kind `slot`   | the dispatch that is sent for the slot     |
 * | concurrency limit | a permit                            | a `wait` of kind `permit` | a look at the limit, after a run's release |
 *
 * Any other change of the task ends its wait, too, and the next claim asks the limits again.
 *
 * Rate limits
 *
 * - The item is a slot log: the starts of the last period, and the reserved ones. A slot is one start at one time. Two slots
 *   that are `limit` positions apart lie at least a period apart, so the limit holds for every span of time.
 * - A claim reserves the next slot by writing the log. The slot lies some milliseconds ahead, since it would otherwise pass during
 *   the write. Each process measures this lead. Calls that arrive while their process writes the log share its next write. While
 *   the next free slot lies some time ahead, a write only adds to a counter.
 * - A claim waits in place for a near slot: up to 1 s for a new slot, 2 s for the slot that its task has waited for, and 7.5 s in a
 *   standalone worker. The claim is written up to 250 ms before the slot, and its handler begins at the slot.
 * - A claim writes a far slot to the task. The planner reads that change from the table's stream and sends a dispatch for the time of
 *   the slot. The waker sends it instead if the slot is more than 15 minutes ahead. The claim of that dispatch starts in the slot.
 * - A claim misses its slot when it is more than 3 % of the period late. Nothing starts in that slot. The claim doubles the lead of
 *   its process and reserves another slot; after five missed slots in a row it writes the next one to the task.
 * - A claim over HTTP takes only a free slot and is told when to ask again (`only-free-slot`). The receiver of a ticket claims the
 *   best task of a type, in the slot of the task that the ticket names (`slots-of-tickets`).
 *
 * Concurrency limits
 *
 * - Items of 8 permits, the shards of the limit, list the permit holders, one per run. A claim records a holder before its write, and
 *   each change that ends a run removes the holder (`PERMIT_HOOK`). `free-permits.ts` finds a shard with a free permit.
 * - A claim that finds no free permit writes a `wait` of kind `permit` to the task, which is then in the place of the limit. A task
 *   of a type that is run in order stays in its ready place instead, if the limit counts the whole type. The claim also writes a
 *   wait note to shard 0, and then reads all shards once more.
 * - A release while the note stands makes the planner send the waker a look at the limit. The look admits the next task: it ends
 *   the wait, which dispatches the task, or it sends a ticket. Only the claim that follows takes the permit.
 * - The note begins a series of looks, the first after 2 s. While tasks wait, one comes every 15 s, and 5 s after a look that admitted tasks. They repair
 *   what lost messages and dead processes leave: a stale holder, whose task has no run with its permit, is removed after 10 s. The
 *   series ends after two looks in a row that found no waiting task. The sweeper begins a lost series again.
 * - A claim that took more than 5 s confirms its permits before the handler begins, since a look may have removed its holder.
 *
 * Read in this order:
 * - `admit` below, with `limit-rules.ts`: which limits and pauses apply to a task
 * - `start.ts`: how a claim gets its slots; `core/limits/start.ts` decides when it starts
 * - `reserve-slots.ts`: writes the slot log. `one-at-a-time.ts`: spaces the starts of one process
 * - `permits.ts`: takes and releases permits
 * - `written-wait.ts`: writes and ends the wait of a task
 * - `serve-limit-looks.ts`, `admit-waiting.ts`: the looks at limits, and the tasks that they admit
 * - `allows-start.ts`: a cached check for readers of tasks
 */

import { defined } from '../../core/defined.ts'
import { block } from '../../core/limits/wait.ts'
import type { Task } from '../../core/task/task.ts'
import type { Permit } from '../../core/task/wait.ts'
import type { Patience } from '../kernel/kernel.ts'
import { type Moment, momentOf } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { areRulesFresh, isLimited, type LimitRules, limitRulesOf } from './limit-rules.ts'
import { acquirePermits, releasePermits } from './permits.ts'
import { type SlotUse, startInSlots, waitForSlot } from './start.ts'
import { writeWait } from './written-wait.ts'

/** The answer of limits that allow a run to begin: what they have granted to it. */
export type Admitted = {
  readonly ok: true
  readonly permits: readonly Permit[]
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
  /** The name of the limit that refused the start. Undefined when it may be one of several. */
  readonly limit?: string
  /** When a slot of that limit may be free. Set only when the task was not written down to wait for a slot. */
  readonly notBefore?: number
}

/** How a claim asks limits, and how long it may take. */
export type AskingLimits = { readonly slotUse: SlotUse; readonly patience: Patience | undefined }

/**
 * Asks the limits of the task's types whether a run may begin. Each rate limit must grant a slot, and each concurrency limit a
 * permit.
 *
 * A refused task is written down as waiting for a permit or for its slot. There are two exceptions. A claim that takes only a free
 * slot writes no wait for one. And a task that another worker is about to claim is left as it is: the write would make that worker's
 * claim fail, so two workers that keep asking could keep each other from the task for ever.
 */
export async function admit(
  system: System,
  task: Task,
  rules: LimitRules,
  { slotUse, patience }: AskingLimits,
): Promise<Admitted | NotAdmitted> {
  if (!isLimited(rules)) return unlimited(rules, momentOf(system.clock))
  const waited = await waitForSlot(system, task, rules, slotUse)
  if (waited.kind === 'waits') return refusedByRate(rules)
  const { reserved } = waited
  // The types may have changed while the claim waited for its slot.
  const present = reserved ? await limitRulesOf(system, task) : rules
  if (present.isPaused) return { ok: false, reason: 'paused' }
  const acquired = await acquirePermits(system, task, present.concurrencies)
  if (!acquired.ok) {
    const { why, limit } = acquired
    if (why === 'being-claimed') return { ok: false, reason: why, limit }
    await writeWait(system, task, current => block(current, limit, system.clock.now()), patience)
    return { ok: false, reason: 'concurrency-limit', limit }
  }
  const start = await startInSlots(system, task, present.rates, { slotUse, reserved }).catch(async error => {
    await releasePermits(system, acquired.permits)
    throw error
  })
  if (start.kind === 'start') return withinLimits(present, acquired, start.at)
  await releasePermits(system, acquired.permits)
  return refusedByRate(present, start.kind === 'not-now' ? start.notBefore : undefined)
}

function unlimited({ readAt }: LimitRules, now: Moment): Admitted {
  return { ok: true, permits: [], heldSince: now, startsAt: undefined, isLimited: false, readAt }
}

function withinLimits(
  { rates, readAt }: LimitRules,
  { permits, since }: { readonly permits: readonly Permit[]; readonly since: Moment },
  at: number,
): Admitted {
  const startsAt = rates.length > 0 ? at : undefined
  return { ok: true, permits, heldSince: since, startsAt, isLimited: true, readAt }
}

/** Names the rate limit that refused the start, if there is only one. */
function refusedByRate({ rates: [only, ...others] }: LimitRules, notBefore?: number): NotAdmitted {
  const limit = others.length === 0 ? only?.name : undefined
  return { ok: false, reason: 'rate-limit', ...defined({ limit, notBefore }) }
}

/** Whether a type of the task is paused now. The types are read again when a pause may have been acknowledged since. */
export async function isPausedByNow(
  system: System,
  task: Task,
  admission: Pick<Admitted, 'readAt'>,
): Promise<boolean> {
  if (areRulesFresh(system, admission)) return false
  return (await limitRulesOf(system, task)).isPaused
}
