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

/** Whether a run of a task may begin, as far as its types are concerned. */
export type Admission =
  | {
      readonly ok: true
      readonly permits: readonly Permit[]
      /** When the first of the permits was taken, or before. */
      readonly heldSince: Moment
      /** When it starts as rate limits count it; undefined: none does. */
      readonly startsAt: number | undefined
      /** Whether limits had a say in it. */
      readonly isLimited: boolean
      /** When each of its types was read, or before. */
      readonly readAt: readonly Moment[]
    }
  | {
      readonly ok: false
      /** `being-claimed`: somebody else has been admitted, and is about to claim it. */
      readonly reason: 'rate-limit' | 'concurrency-limit' | 'being-claimed'
      /** Its name, where it is known which of several it was. */
      readonly limit: string | undefined
      /** When a start may be had under that limit, where the task is not noted to wait for one. */
      readonly notBefore?: number
    }

/**
 * Asks the limits of the task's types whether a run may begin: each concurrency limit has a permit, each rate limit allows
 * a start. What may not begin is noted with the task, where that brings it back in time: it stands in the limit's
 * place until a permit is given back, or waits for its turn. What somebody else is about to claim is left to him: a note
 * would change the task under his hands, and two who ask for it again and again would keep each other from it for ever.
 */
export async function admit(
  system: System,
  task: Task,
  terms: LimitRules,
  {
    starting,
    near,
    patience,
  }: {
    readonly starting: StartPolicy
    readonly near: ReservedSlot | undefined
    readonly patience?: Patience | undefined
  },
): Promise<Admission> {
  const acquired = await acquirePermits(system, task, terms.concurrencies)
  if (!acquired.ok) {
    const { why, limit } = acquired
    if (why === 'being-claimed') return { ok: false, reason: why, limit }
    await waitForPermit(system, task, limit, patience)
    return { ok: false, reason: 'concurrency-limit', limit }
  }
  const start = await starting
    .start(system, task, terms.rates, near)
    .catch(giveBackAnd(system, acquired.permits))
  if (!start || 'notBefore' in start) {
    await releasePermits(system, acquired.permits)
    return { ok: false, reason: 'rate-limit', limit: onlyRateLimit(terms), ...start }
  }
  const { permits, since: heldSince } = acquired
  const startsAt = terms.rates.length > 0 ? start.at : undefined
  return { ok: true, permits, heldSince, startsAt, isLimited: true, readAt: terms.readAt }
}

/** The name of the limit that did not let a task begin, where it can only be one. */
export function onlyRateLimit({ rates: [only, ...others] }: LimitRules): string | undefined {
  return others.length === 0 ? only?.name : undefined
}

function giveBackAnd(system: System, permits: readonly Permit[]): (error: unknown) => Promise<never> {
  return async error => {
    await releasePermits(system, permits)
    throw error
  }
}

/** What has changed meanwhile is left as it is. */
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

/** Whether a type of the task is paused by now. The types are read again when a pause may have been acknowledged since. */
export async function isPausedByNow(
  system: System,
  task: Task,
  admission: Extract<Admission, { ok: true }>,
): Promise<boolean> {
  if (areRulesFresh(system, admission)) return false
  return (await limitRulesOf(system, task)).isPaused
}
