import { block } from '../../core/limits/wait.ts'
import { isSamePiece } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { Permit } from '../../core/task/wait.ts'
import { type Patience, transact } from '../kernel/kernel.ts'
import type { Moment } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { areRulesFresh, type LimitRules, limitRulesOf } from './limits.ts'
import { acquirePermits, releasePermits } from './permits.ts'
import type { ReservedSlot, StartPolicy } from './start-policy.ts'

/** Whether the limits of a task's types allow a run to begin. */
export type Admission =
  | {
      readonly ok: true
      readonly permits: readonly Permit[]
      /** A moment not after the first of the permits was taken. */
      readonly heldSince: Moment
      /** When the run starts as the rate limits count it. Undefined when no rate limit counts it. */
      readonly startsAt: number | undefined
      /** Whether any limit counts the run. */
      readonly isLimited: boolean
      /** For each of the task's types, a moment not after it was read. */
      readonly readAt: readonly Moment[]
    }
  | {
      readonly ok: false
      /** `being-claimed`: another worker has been admitted and is about to claim the task. */
      readonly reason: 'rate-limit' | 'concurrency-limit' | 'being-claimed'
      /** The name of the limit that refused the start. Undefined when it may be one of several. */
      readonly limit: string | undefined
      /** When a slot of that limit may be free. Set only when the task was not written down to wait for a slot. */
      readonly notBefore?: number
    }

/**
 * Asks the limits of the task's types whether a run may begin. Each concurrency limit must have a free permit, and each
 * rate limit a slot.
 *
 * A refused task is written down as waiting: in the limit's place until a permit is released, or for its slot. Only a
 * policy that asks again later leaves the task as it is.
 *
 * A task that another worker is about to claim is not written. The write would make that worker's claim fail, and two
 * workers that keep asking could keep each other from the task for ever.
 */
export async function admit(
  system: System,
  task: Task,
  rules: LimitRules,
  {
    startPolicy,
    reserved,
    patience,
  }: {
    readonly startPolicy: StartPolicy
    readonly reserved: ReservedSlot | undefined
    readonly patience?: Patience | undefined
  },
): Promise<Admission> {
  const acquired = await acquirePermits(system, task, rules.concurrencies)
  if (!acquired.ok) {
    const { why, limit } = acquired
    if (why === 'being-claimed') return { ok: false, reason: why, limit }
    await waitForPermit(system, task, limit, patience)
    return { ok: false, reason: 'concurrency-limit', limit }
  }
  const start = await startPolicy
    .start(system, task, rules.rates, reserved)
    .catch(releasePermitsAndRethrow(system, acquired.permits))
  if (!start || 'notBefore' in start) {
    await releasePermits(system, acquired.permits)
    return { ok: false, reason: 'rate-limit', limit: onlyRateLimit(rules), ...start }
  }
  const { permits, since: heldSince } = acquired
  const startsAt = rules.rates.length > 0 ? start.at : undefined
  return { ok: true, permits, heldSince, startsAt, isLimited: true, readAt: rules.readAt }
}

/** The name of the task's rate limit, if there is only one. */
export function onlyRateLimit({ rates: [only, ...others] }: LimitRules): string | undefined {
  return others.length === 0 ? only?.name : undefined
}

function releasePermitsAndRethrow(
  system: System,
  permits: readonly Permit[],
): (error: unknown) => Promise<never> {
  return async error => {
    await releasePermits(system, permits)
    throw error
  }
}

/** Writes down that the task waits for a permit of the limit. A task that has moved on meanwhile is left as it is. */
async function waitForPermit(
  system: System,
  seen: Task,
  limit: string,
  patience: Patience | undefined,
): Promise<void> {
  const decide = (current: Task | undefined) =>
    current && isSamePiece(seen, current)
      ? block(current, limit, system.clock.now())
      : { ok: false as const, reason: 'finished' as const }
  await transact(system, seen, decide, patience)
}

/** Whether a type of the task is paused now. The types are read again when a pause may have been acknowledged since. */
export async function isPausedByNow(
  system: System,
  task: Task,
  admission: Extract<Admission, { ok: true }>,
): Promise<boolean> {
  if (areRulesFresh(system, admission)) return false
  return (await limitRulesOf(system, task)).isPaused
}
